/** Paths of A2A: at the root, below `/a2a`, and below `/v1` as version 0.3 had them. */
const A2A = /^\/(message:|tasks\b|extendedAgentCard|\.well-known\/agent|a2a$)/;
const A2A_03 = /^\/v1\/(message:|tasks\b|extendedAgentCard|card)/;

const NAMES: Readonly<Record<string, string>> = {
  healthz: 'Service',
  metrics: 'Service',
  ready: 'Service',
  v1: 'OpenAI API',
  mcp: 'MCP',
  oauth: 'MCP',
  'mcp-servers': 'MCP servers',
  'ab-tests': 'A/B tests',
  hitl: 'Questions to people',
  beads: 'Beads (issues)',
  ice: 'Calls',
  offer: 'Calls',
  a2a: 'A2A callbacks',
};

/** Groups that most readers look for last, in this order. */
const LAST = ['OpenAI API', 'MCP', 'A2A', 'A2A below /a2a', 'A2A 0.3', 'A2A 0.3 below /a2a', 'Sign-in'];

/** The group of a route in `/docs`, from its path. */
export function groupOf(path: string): string {
  const inner = path.replace(/^\/a2a(?=\/(?!callback))/, '');
  const below = inner === path ? '' : ' below /a2a';
  if (A2A.test(inner)) return `A2A${below}`;
  if (A2A_03.test(inner)) return `A2A 0.3${below}`;
  const [first = '', second = ''] = path.split('/').slice(1);
  if (first === 'operator') {
    const isSignIn = second === '' || second === 'enter' || second === 'session';
    return isSignIn ? 'Sign-in' : `Operator: ${second}`;
  }
  const word = first === 'api' ? second : first;
  return NAMES[word] ?? title(word);
}

function title(word: string): string {
  const text = word.replaceAll('-', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The order of groups on the page: the service's own by name, then what all services have. */
export function compareGroups(one: string, other: string): number {
  return rank(one) - rank(other) || one.localeCompare(other);
}

function rank(group: string): number {
  if (group.startsWith('Operator:')) return 100;
  if (group === 'Service') return 101;
  return LAST.indexOf(group) + 1;
}

/** What a parameter in a path names: `{id}` after `schedules` is the id of a schedule. */
export function pathParameterText(path: string, name: string): string {
  const segments = path.split('/');
  const at = segments.findIndex((segment) => segment.includes(`{${name}}`));
  const owner = (segments[at - 1] ?? '').replaceAll('-', ' ');
  const one = owner.endsWith('ies') ? `${owner.slice(0, -3)}y` : owner.replace(/s$/, '');
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  const known = words === 'id' ? `Id of the ${one}` : words === 'name' ? `Name of the ${one}` : undefined;
  return known ?? words.charAt(0).toUpperCase() + words.slice(1);
}
