import { callOf, choicesOf } from '../fit.ts';
import { trimPhrase } from '../text.ts';
import type { Intent, OfferedTool, Recognised } from '../types.ts';

/** "ask research to X", "delegate to research: X", "hand X to research". */
const orders = [
  /^(?<verb>ask|tell|have)\s+(?:the\s+)?(?<name>[\w.-]+)(?:\s+(?:agent|assistant|delegate))?\s+(?:to\s+|about\s+|for\s+)?(?<query>.+)$/is,
  /^(?<verb>delegate|hand(?: over)?|forward|pass)\s+(?:this\s+|it\s+)?to\s+(?:the\s+)?(?<name>[\w.-]+)(?:\s+agent)?[:,]?\s+(?:to\s+)?(?<query>.+)$/is,
  /^(?<verb>delegate|hand(?: over)?|forward|pass)\s+(?<query>.+?)\s+to\s+(?:the\s+)?(?<name>[\w.-]+)$/is,
];
const notAnAgent = /^(?:me|us|him|her|them|the|a|an|it|you|yourself|human|user)$/i;
/** Verbs that also stand for other things, so the name after them must be a known one. */
const loose = /^(?:tell|have)$/i;

interface Route {
  tool: string;
  target: string;
  query: string;
}

const routes: Route[] = [
  { tool: 'delegate_to', target: 'target', query: 'query' },
  { tool: 'peer_consult', target: 'name', query: 'message' },
  { tool: 'code_with', target: 'agent', query: 'task' },
];

interface Destination {
  tool: OfferedTool;
  route: Route;
  choices: string[];
}

export const delegate: Intent = {
  tools: routes.map(({ tool }) => tool),
  example: 'Ask research to compare heat pumps',
  recognise(clause, { tools }) {
    const match = orders.map((order) => order.exec(trimPhrase(clause))).find((found) => found !== null);
    const { verb = '', name = '', query = '' } = match?.groups ?? {};
    const open = destinations(tools);
    if (name === '' || notAnAgent.test(name) || open.length === 0) return undefined;
    return handOver(name, query, open, loose.test(verb));
  },
};

function destinations(tools: ReadonlyMap<string, OfferedTool>): Destination[] {
  return routes.flatMap((route) => {
    const tool = tools.get(route.tool);
    return tool === undefined ? [] : [{ tool, route, choices: choicesOf(tool, route.target) }];
  });
}

/** Calls the first destination that knows the name; one without a list takes any name. */
function handOver(name: string, query: string, open: Destination[], isLoose: boolean): Recognised {
  for (const { tool, route, choices } of open) {
    const target = matching(name, choices) ?? (choices.length === 0 && !isLoose ? name : undefined);
    if (target !== undefined) return [callOf(tool, { [route.target]: target, [route.query]: query })];
  }
  const known = open.flatMap(({ choices }) => choices).join(', ');
  return isLoose ? undefined : `I know no agent called "${name}". I can ask: ${known}.`;
}

/** The listed name that is meant: the same, else one that contains it or is contained. */
function matching(name: string, choices: string[]): string | undefined {
  const wanted = name.toLowerCase();
  return (
    choices.find((choice) => choice.toLowerCase() === wanted) ??
    choices.find((choice) => choice.toLowerCase().includes(wanted) || wanted.includes(choice.toLowerCase()))
  );
}
