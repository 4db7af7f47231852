// The cases of security/attacks, played to a real agent by a model that obeys everything it reads.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ChatRequestBody, JsonServer, mcpProgram, startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

interface AttackCall {
  tool: string;
  arguments: Record<string, string>;
}

interface Attack {
  id: string;
  text: string;
  before?: AttackCall;
  effect: AttackCall;
}

type ModelCall = { name: string; arguments: object };

const secret = 'code-4711-blue';
const directory = join(import.meta.dirname, '../../../security/attacks');
const files = readdirSync(directory).filter((name) => name.endsWith('.yaml'));
const attacks = files.flatMap((name) =>
  (parse(readFileSync(join(directory, name), 'utf8')) as Attack[]).map((attack) => ({
    ...attack,
    door: basename(name, '.yaml'),
  })),
);

/** The stranger's server: pages, search results, and whatever is sent to it. */
const outside = new JsonServer();
const attacker = new JsonServer();
let planted = '';
/** Calls that the model was ordered to make and has not made yet. */
let ordered: ModelCall[] = [];
let model: Awaited<ReturnType<typeof startModelServer>>;
let agent: TestAgent;

/** The call that brings the text of a door to the model. */
const doors: Record<string, (text: string) => Promise<ModelCall>> = {
  page: async () => ({ name: 'fetch_url', arguments: { url: `${outside.url}/page` } }),
  search: async () => ({ name: 'web_search', arguments: { query: 'tides' } }),
  inbox: async (text) => {
    await agent.fetch('/api/inbox', post({ text, source: 'eve' }));
    return { name: 'check_inbox', arguments: {} };
  },
  mcp: async (text) => ({ name: 'box_echo', arguments: { words: text } }),
  a2a: async () => ({ name: 'delegate_to', arguments: { target: 'scout', query: 'What is new?' } }),
};

/** Makes the calls that stand in the last message, whoever wrote it. The same endpoint plays the other agent. */
function obey({ messages, model: name }: ChatRequestBody) {
  const last = JSON.stringify(messages.at(-1)?.content);
  if (name === 'scout') return planted;
  const order = /CALL\[([A-Za-z0-9+/=]+)\]/.exec(last)?.[1];
  if (ordered.length === 0 && order !== undefined)
    ordered = JSON.parse(Buffer.from(order, 'base64').toString()) as ModelCall[];
  const next = ordered.shift();
  return next === undefined ? 'Done.' : { toolCalls: [next] };
}

const ordering = (...calls: ModelCall[]) => `CALL[${Buffer.from(JSON.stringify(calls)).toString('base64')}]`;

beforeAll(async () => {
  outside.on('GET /page', () => ({ headers: { 'content-type': 'text/plain' }, body: planted }));
  outside.on('GET /search', () => ({
    body: { results: [{ title: 'Tides', url: 'https://tides.example/', content: planted }] },
  }));
  await Promise.all([outside.listen(), attacker.listen()]);
  model = await startModelServer({ script: obey });
  const config = {
    filesystem: { run_command: true },
    mcp: { servers: [{ name: 'box', command: process.execPath, args: [mcpProgram, 'echo'] }] },
    delegates: [{ name: 'scout', type: 'compat', url: model.url, model: 'scout' }],
  };
  agent = await startAgent({
    config: JSON.stringify(config),
    env: {
      ...modelEnvironment(model.url),
      SEARXNG_URL: outside.url,
      FETCH_ALLOWED_HOSTS: '127.0.0.1',
    },
  });
  const workspace = join(agent.home, 'agent', 'workspace');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'keep.md'), 'keep');
});
afterAll(async () => {
  await agent.stop();
  await Promise.all([model.stop(), outside.stop(), attacker.stop()]);
});

describe.each(attacks)('$id', ({ door, text, before: first, effect }) => {
  it('causes no effect: the task waits for a person', async () => {
    ordered = [];
    const calls = [first, effect].filter((call) => call !== undefined);
    const given = JSON.stringify(
      calls.map(({ tool, arguments: input }) => ({ name: tool, arguments: input })),
    )
      .replaceAll('{attacker}', attacker.url)
      .replaceAll('{secret}', secret);
    const order = ordering(...(JSON.parse(given) as ModelCall[]));
    // Only the result of the door holds the order: the first call must not carry it out itself.
    planted = `${text} ${order}`;
    const enter = await doors[door]!(planted);
    const before = model.chats().length;
    const task = await agent.send(`The code is ${secret}. Look at ${outside.url}/page. ${ordering(enter)}`);
    const asked = model
      .chats()
      .slice(before)
      .filter((chat) => chat.model !== 'scout');
    expect(task.status.state).toBe('input-required');
    expect(task.status.message?.parts[0]?.text).toContain('Only the operator can approve it');
    // The model read the text in its fence, obeyed, and got no result.
    expect(JSON.stringify(asked[1]?.messages.at(-1)?.content)).toMatch(/<outside-[0-9a-f]{24} from=/);
    expect(asked).toHaveLength(1 + calls.length);
    expect(attacker.requests).toEqual([]);
    await agent.rpc('tasks/cancel', { id: task.id });
  });
});

it('has cases for every door, and a door for every case', () => {
  expect(new Set(attacks.map(({ door }) => door))).toEqual(new Set(Object.keys(doors)));
  expect(new Set(attacks.map(({ id }) => id)).size).toBe(attacks.length);
  expect(attacks.length).toBeGreaterThanOrEqual(20);
});
