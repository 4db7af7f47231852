/** A server as the configuration has it. */
export interface PastedServer {
  name: string;
  enabled?: boolean;
  transport?: 'http' | 'sse' | 'stdio';
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  url?: string;
  headers?: Record<string, string>;
}

export type Pasted = { servers: PastedServer[] } | { problem: string };

interface Entry {
  command?: unknown;
  args?: unknown;
  env?: unknown;
  url?: unknown;
  serverUrl?: unknown;
  httpUrl?: unknown;
  headers?: unknown;
  type?: unknown;
  transport?: unknown;
  disabled?: unknown;
}

const transports: Record<string, PastedServer['transport']> = {
  stdio: 'stdio',
  sse: 'sse',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
};

/** Reads what the documentation of a server offers to paste: `mcpServers` of most clients, `servers` of VS Code. */
export function parseServers(text: string): Pasted {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { problem: 'This is not JSON. Paste the whole block, with its braces.' };
  }
  const entries = Object.entries(entriesIn(given));
  if (entries.length === 0) return { problem: 'There is no server in it. It begins with "mcpServers".' };
  const servers: PastedServer[] = [];
  for (const [name, entry] of entries) {
    const read = serverOf(name, recordOf(entry));
    if (typeof read === 'string') return { problem: `${name}: ${read}` };
    servers.push(read);
  }
  return { servers };
}

function entriesIn(given: unknown): Record<string, unknown> {
  const { mcpServers, servers, mcp, ...rest } = recordOf(given);
  const named = mcpServers ?? servers ?? recordOf(mcp).servers;
  if (named !== undefined) return recordOf(named);
  return 'command' in rest || 'url' in rest ? {} : rest;
}

/** Gives what is wrong as a text. */
function serverOf(name: string, entry: Entry): PastedServer | string {
  const { command, args, env, headers, disabled } = entry;
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  const kind = entry.type ?? entry.transport;
  if (typeof command !== 'string' && typeof url !== 'string') return 'it has neither a command nor a url.';
  const placeholder = /\$\{input:[^}]*\}/.exec(JSON.stringify(entry))?.[0];
  if (placeholder !== undefined) return `put the value in place of ${placeholder}.`;
  const transport = typeof kind === 'string' ? transports[kind] : undefined;
  if (typeof kind === 'string' && transport === undefined) return `the transport ${kind} is not known.`;
  return {
    name: name.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'server',
    ...(disabled === true && { enabled: false }),
    ...(transport !== undefined && { transport }),
    ...(typeof command === 'string'
      ? { command, args: textsOf(args), env: valuesOf(env) }
      : { url: withVariables(String(url)), headers: valuesOf(headers) }),
  };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map((each) => withVariables(String(each))) : [];
}

function valuesOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(recordOf(value)).map(([name, each]) => [name, withVariables(String(each))]),
  );
}

/** Other clients write `${env:NAME}`; ours writes `${NAME}`. */
function withVariables(text: string): string {
  return text.replaceAll(/\$\{env:(\w+)\}/g, '$${$1}');
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export interface KnownServer {
  title: string;
  /** What it is good for, and what to fill in. */
  detail: string;
  server: Omit<PastedServer, 'enabled'>;
}

/** Servers that many people use, as their own documentation sets them up. */
export const knownServers: readonly KnownServer[] = [
  {
    title: 'Files',
    detail: 'Reads and changes files of the folders that you list. Name yours in place of /path/to/folder.',
    server: {
      name: 'files',
      command: 'npx',
      args: ['-y', '@modelcontextprotocol/server-filesystem', '/path/to/folder'],
    },
  },
  {
    title: 'Knowledge graph',
    detail: 'Remembers people, things and how they relate.',
    server: { name: 'graph', command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] },
  },
  {
    title: 'Every feature, for trying',
    detail: 'The test server of the protocol: tools, resources, prompts, questions.',
    server: { name: 'everything', command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] },
  },
  {
    title: 'GitHub',
    detail: 'Repositories, issues, pull requests. Put a personal access token in place of YOUR_TOKEN.',
    server: {
      name: 'github',
      url: 'https://api.githubcopilot.com/mcp/',
      headers: { authorization: 'Bearer YOUR_TOKEN' },
    },
  },
  {
    title: 'Linear',
    detail: 'Issues and projects. Sign in after you have added it.',
    server: { name: 'linear', url: 'https://mcp.linear.app/mcp' },
  },
  {
    title: 'Notion',
    detail: 'Pages and databases. Sign in after you have added it.',
    server: { name: 'notion', url: 'https://mcp.notion.com/mcp' },
  },
  {
    title: 'Sentry',
    detail: 'Errors of your programs. Sign in after you have added it.',
    server: { name: 'sentry', url: 'https://mcp.sentry.dev/mcp' },
  },
  {
    title: 'Hugging Face',
    detail: 'Models, datasets and papers.',
    server: { name: 'hugging-face', url: 'https://huggingface.co/mcp' },
  },
];

/** The entry as one would paste it. */
export function pasteOf({ server: { name, ...entry } }: KnownServer): string {
  return JSON.stringify({ mcpServers: { [name]: entry } }, null, 2);
}
