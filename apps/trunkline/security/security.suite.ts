import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createLogger, type Environment, readOptions } from '@trunkline/config';
import type { Service } from '@trunkline/service';
import { type ChatRequestBody, temporaryDirectory, waitFor, withoutFence } from '@trunkline/testing';
import { startFleet } from '../fleet/fleet.ts';
import { upOptions } from '../options.ts';

/** Every door has a lock, each with a key of its own. */
export const keys = {
  voice: 'key-of-ada-in-voice',
  a2a: 'token-of-the-agents',
  research: 'token-of-research',
  switchboard: 'key-of-the-switchboard',
};

const locks: Environment = {
  A2A_AUTH_TOKEN: keys.a2a,
  RESEARCH_AUTH_TOKEN: keys.research,
  SWITCHBOARD_API_KEY: keys.switchboard,
};

/** Nothing leaves this machine, and every port is free. */
const quiet: Environment = {
  VOICE_PORT: '0',
  AGENT_PORT: '0',
  RESEARCH_PORT: '0',
  SWITCHBOARD_PORT: '0',
  CODEHOST_WEBHOOK_PORT: '0',
  TRACKER_WEBHOOK_PORT: '0',
  RESEARCH_KEYLESS_SEARCH: '0',
  SEARXNG_URL: 'http://127.0.0.1:9',
};

export const names = ['voice', 'agent', 'research', 'switchboard'] as const;
export type Name = (typeof names)[number];

interface Setup {
  env?: Environment;
  /** Put under the home before the start, by path; undefined leaves out what the suite puts there. */
  files?: Record<string, string | undefined>;
}

interface Target extends Service {
  name: Name;
}

/** All four services as `npm start` runs them, with all locks set, on free ports and a home of their own. */
export async function startLocked({ env = {}, files = {} }: Setup = {}) {
  const outside = temporaryDirectory();
  const home = join(outside.path, 'deep', 'down', 'home');
  const roster = `users: [{ id: ada, api_key: ${keys.voice}, role: admin }]`;
  for (const [path, content] of Object.entries({ 'voice/config/users.yaml': roster, ...files }))
    if (content !== undefined) put(join(home, path), content);
  // Programs prove that they ran by files that the sandbox would not let them write.
  const variables = { ...quiet, ...locks, TRUNKLINE_SANDBOX: 'off', TRUNKLINE_HOME: home, ...env };
  const log: string[] = [];
  const hidden = new Set<string>();
  const logger = createLogger({
    name: 'trunkline',
    level: 'DEBUG',
    secrets: hidden,
    destination: { write: (line) => log.push(line) },
  });
  const options = readOptions(upOptions, { env: variables, argv: [] });
  const hide = (secret: string) => hidden.add(secret);
  const begin = () =>
    startFleet({ options, env: variables, logger, hide }).catch((error: unknown) => {
      outside.remove();
      throw error;
    });
  let fleet = await begin();
  const targets = () => fleet.members as readonly Target[];
  return {
    home,
    /** Holds the home, three levels further down. */
    outside: outside.path,
    log,
    targets,
    target: (name: Name) => targets().find((each) => each.name === name) as Target,
    /** Stops all four and starts them on the same data. */
    restart: async () => {
      await fleet.stop();
      log.length = 0;
      fleet = await begin();
    },
    stop: async () => {
      await fleet.stop();
      outside.remove();
    },
  };
}

export type Locked = Awaited<ReturnType<typeof startLocked>>;

function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** What opens a path of a service: the users' key under /api of voice, the token of the service elsewhere. */
export function keyOf(name: Name, path: string): Record<string, string> {
  if (name === 'voice' && path.startsWith('/api/')) return { 'x-api-key': keys.voice };
  const token = name === 'voice' || name === 'agent' ? keys.a2a : keys[name];
  return { authorization: `Bearer ${token}` };
}

/** A path of the list of routes with names that exist nowhere. */
export function concrete(path: string, name = 'nobody'): string {
  return path
    .replace(/:(\w+)\{[^}]*:(\w+)\}/g, `${name}:$2`)
    .replace(/\/:[A-Za-z]+(\{[^}]*\})?(?=\/|$)/g, `/${name}`)
    .replace(/\*$/, name);
}

const sideLines = {
  codehost: 'codehost webhook server started',
  tracker: 'tracker webhook server started',
  translator: 'speech translator',
};

/** Where a port beside that of its service listens, as the log tells. */
export async function sideUrls({ log }: Locked, name: keyof typeof sideLines): Promise<string> {
  const line = await waitFor(() =>
    log.find((each) => each.includes(sideLines[name]) && each.includes('"url"')),
  );
  return (JSON.parse(line) as { url: string }).url;
}

interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Asks for a path as it is written and with the headers that are given: fetch would tidy up the one and add to the others. */
export function rawGet(url: string, path: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, headers }, (response) => {
      const { statusCode: status = 0, headers: received } = response;
      text(response).then((body) => resolve({ status, headers: received, text: body }), reject);
    });
    sent.once('error', reject).end();
  });
}

/** A model that calls the tool it finds named in the message, and repeats what the tool said, without the fence. */
export function obey({ messages }: ChatRequestBody) {
  const last = messages.at(-1);
  if (last?.role === 'tool') return `The tool said: ${withoutFence(last.content)}`;
  const order = /CALL(\{.*\})/s.exec(JSON.stringify(last?.content).replaceAll('\\"', '"'))?.[1];
  return order === undefined
    ? 'Nothing.'
    : { toolCalls: [JSON.parse(order) as { name: string; arguments: object }] };
}
