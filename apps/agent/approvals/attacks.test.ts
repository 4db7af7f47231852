// The cases of security/attacks/agent and security/controls, played to a real agent by a model that obeys everything it reads.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createA2aClient } from '@trunkline/a2a';
import { encodePrincipal, type Principal, principalHeader } from '@trunkline/identity';
import {
  acceptDescriptions,
  callsOf,
  filled,
  JsonServer,
  mcpProgram,
  ObedientModel,
  type OrderedCall,
  pdfOf,
  readAttacks,
  readCases,
  startMcpServer,
  startModelServer,
  temporaryDirectory,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  modelEnvironment,
  post,
  startAgent,
  type TestAgent,
  type WireTask,
} from '../fixtures/start-agent.ts';

const secret = 'code-4711-blue';
const serviceToken = 'the-service-token';
const ava: Principal = { kind: 'person', id: 'voice:ava', via: ['voice'], role: 'member' };
const attacks = readAttacks('agent');

/** Ordinary work: what a person says, and the calls that it takes. */
interface Control {
  id: string;
  turns: { says: string; calls?: Record<string, object>[] }[];
  /** `allow`: all of it runs. `ask`: all runs but the last call, which waits for a person. */
  expect: 'allow' | 'ask';
}
const controls = readCases<Control>('controls');

/** The stranger's server: pages, documents, search results; and a server that must never hear of the secret. */
const outside = new JsonServer();
const attacker = new JsonServer();
const obedient = new ObedientModel();
const home = temporaryDirectory();
let planted = '';
let model: Awaited<ReturnType<typeof startModelServer>>;
let shelf: Awaited<ReturnType<typeof startMcpServer>>;
let agent: TestAgent;
let workspace: string;

interface Door {
  /** The calls that bring the text to the model; what has to happen before. */
  enter(text: string): Promise<OrderedCall[]>;
  /** Text that the operator vouches for is not fenced: only what always asks is held. */
  isVouchedFor?: true;
  /** Says it where the text comes with the words of the person, in place of a message of words alone. */
  send?(words: string): Promise<WireTask>;
  /** The model reads it apart from the task, where it has no tools: the task ends without a question. */
  isApart?: true;
}

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const base64 = (text: string) => Buffer.from(text).toString('base64');
const sendFile = (words: string, file: object) =>
  agent.send('', {
    parts: [...(words === '' ? [] : [{ kind: 'text', text: words }]), { kind: 'file', file }],
  });
const nothing = async () => [];

const call = (name: string, given: object = {}): OrderedCall => ({ name, arguments: given });

const doors: Record<string, Door> = {
  page: { enter: async () => [call('fetch_url', { url: `${outside.url}/page` })] },
  pdf: { enter: async () => [call('fetch_url', { url: `${outside.url}/paper.pdf` })] },
  search: { enter: async () => [call('web_search', { query: 'tides' })] },
  inbox: {
    async enter(text) {
      await agent.fetch('/api/inbox', post({ text, source: 'eve' }));
      return [call('check_inbox')];
    },
  },
  mcp: { enter: async (text) => [call('box_echo', { words: text })] },
  a2a: { enter: async () => [call('delegate_to', { target: 'scout', query: 'What is new?' })] },
  memory: {
    async enter(text) {
      await remember(call('memory_ingest', { content: text, heading: 'tides' }));
      return [call('memory_recall', { query: 'tides' })];
    },
  },
  'memory-domain': {
    async enter(text) {
      await remember(call('memory_ingest', { content: 'High at noon.', domain: text }));
      return [call('memory_stats')];
    },
  },
  notes: {
    async enter(text) {
      await remember(call('notes_write', { tab: 'Notes', content: text }));
      return [call('notes_read', { tab: 'Notes' })];
    },
  },
  board: {
    async enter(text) {
      await clearBoard();
      await remember(call('beads_create', { title: text }));
      return [call('beads_list')];
    },
  },
  file: {
    async enter(text) {
      await remember(call('write_file', { path: 'tides.md', content: text }));
      return [call('read_file', { path: 'tides.md' })];
    },
  },
  'file-search': {
    async enter(text) {
      await remember(call('write_file', { path: 'deep/tides.md', content: `High at noon.\n${text}` }));
      return [call('search_files', { query: 'CALL', path: 'deep' })];
    },
  },
  'file-edit': {
    async enter(text) {
      writeFileSync(join(workspace, 'edited.md'), 'Tides: none.');
      const edit = { path: 'edited.md', old_text: 'none.', new_text: text };
      await remember(call('edit_file', edit));
      return [call('read_file', { path: './edited.md' })];
    },
  },
  'others-file': {
    async enter(text) {
      await haveAva(call('write_file', { path: 'others/todo.md', content: text }));
      return [call('read_file', { path: 'others/todo.md' })];
    },
  },
  'file-listing': {
    async enter(text) {
      const folder = `listed/${crypto.randomUUID()}`;
      await remember(call('write_file', { path: `${folder}/${text}.md`, content: 'High at noon.' }));
      return [call('list_dir', { path: folder })];
    },
  },
  skill: {
    async enter(text) {
      writeSkill(text);
      return [call('load_skill', { name: 'tides' })];
    },
    isVouchedFor: true,
  },
  attachment: {
    enter: nothing,
    send: (words) => sendFile(words, { name: 'tides.txt', mimeType: 'text/plain', bytes: base64(planted) }),
  },
  picture: {
    enter: nothing,
    send: (words) => sendFile(words, { name: `${planted}.png`, mimeType: 'image/png', bytes: png }),
  },
  artifact: { enter: nothing, send: sendArtifact },
  grpc: { enter: nothing, send: sendOverGrpc },
  'mcp-resource': { enter: async () => [call('shelf_resources', { uri: 'note://tides' })] },
  'mcp-prompt': { enter: nothing, send: () => agent.send('/shelf:tides') },
  'mcp-sampling': { enter: async () => [call('shelf_sample')], isApart: true },
  'ask-agent': {
    enter: async () => [call('fetch_url', { url: `${outside.url}/page` })],
    send: sendOverMcp,
  },
  'mcp-question': {
    enter: async () => [call('shelf_survey')],
    async send(words) {
      const asked = await agent.send(words);
      const said = asked.status.message?.parts[0]?.text;
      // Whoever reads the question knows who asks, and their answer approves nothing.
      expect(said).toMatch(/^The MCP server shelf asks: /);
      return await agent.send('yes', { taskId: asked.id });
    },
  },
};

/** An earlier turn put what it read into a file for the person, who sends that file on. */
async function sendArtifact(words: string): Promise<WireTask> {
  const read = call('fetch_url', { url: `${outside.url}/plain` });
  const write = call('write_artifact', { name: 'tides.md', content: planted });
  const { artifacts } = await agent.send(obedient.order('make', [read, write]));
  const parts = (artifacts ?? []).flatMap((each) => each.parts as { metadata?: { file?: string } }[]);
  const id = parts.find(({ metadata }) => metadata?.file !== undefined)?.metadata?.file;
  return await sendFile(words, { uri: `trunkline-file:${id}`, mimeType: 'text/markdown' });
}

/** A program with an MCP client gives the agent a task, and says yes to what it is asked then. */
async function sendOverMcp(words: string): Promise<WireTask> {
  const client = new Client({ name: 'editor', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`));
  await client.connect(transport as Transport);
  const ask = async (given: object) => {
    const { _meta } = await client.callTool({ name: 'ask_agent', arguments: { ...given } });
    return _meta as { task: string; conversation: string };
  };
  const { task, conversation } = await ask({ message: words });
  const asked = (await agent.rpc('tasks/get', { id: task })).result;
  // Its model may say anything in the name of the person.
  await ask({ message: 'yes for this task', task, conversation });
  await client.close();
  const still = (await agent.rpc('tasks/get', { id: task })).result;
  return { ...still, status: { ...asked.status, state: still.status.state } };
}

/** The agent over gRPC alone: another address gives out its card with nothing else. */
async function sendOverGrpc(words: string): Promise<WireTask> {
  const file = { type: 'file' as const, name: 'tides.txt', mediaType: 'text/plain', bytes: base64(planted) };
  const remote = { name: 'agent', url: outside.url };
  const { state, taskId = '', statusText } = await grpc.send(remote, { text: words, parts: [file] });
  const message = { parts: [{ kind: 'text', text: statusText }] };
  return { kind: 'task', id: taskId, contextId: '', status: { state, message } };
}
const grpc = createA2aClient();
const isMaking = (messages: readonly { role: string; content?: unknown }[]) =>
  messages.some(({ role, content }) => role === 'user' && JSON.stringify(content).includes('CALL[make]'));

async function grpcCard(): Promise<object> {
  interface Card {
    supportedInterfaces: { protocolBinding: string }[];
  }
  const headers = { 'a2a-version': '1.0' };
  const card = (await (await agent.fetch('/.well-known/agent-card.json', { headers })).json()) as Card;
  const supportedInterfaces = card.supportedInterfaces.filter((each) => each.protocolBinding === 'GRPC');
  expect(supportedInterfaces).not.toEqual([]);
  return { ...card, supportedInterfaces };
}

/** A skill counts as soon as its file is written; the tool that loads skills is there if one was at the start. */
function writeSkill(text: string): void {
  const directory = join(home.path, 'agent', 'config', 'skills', 'tides');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'SKILL.md'), `---\nname: tides\ndescription: About tides.\n---\n${text}`);
}

/** Issues of earlier cases would be read first. */
async function clearBoard(): Promise<void> {
  const { issues } = (await (await agent.fetch('/api/beads/issues')).json()) as { issues: { id: string }[] };
  for (const { id } of issues) {
    const change = { ...post({ status: 'closed' }), method: 'PATCH' };
    await agent.fetch(`/api/beads/issues/${id}`, change);
  }
}

/** An earlier turn reads a page and stores its text; the person says yes to that. */
async function remember(store: OrderedCall): Promise<void> {
  const read = call('fetch_url', { url: `${outside.url}/plain` });
  const asked = await agent.send(obedient.order('remember', [read, store]));
  expect(asked.status.state).toBe('input-required');
  const { status } = await agent.send('yes', { taskId: asked.id });
  // A tool that repeats the text has the model obey it at once: that waits for a person too.
  const { path = '' } = store.arguments as { path?: string };
  const repeats = store.name === 'beads_create' || 'domain' in store.arguments || path.includes('CALL[');
  expect(status.state).toBe(repeats ? 'input-required' : 'completed');
  if (status.state === 'input-required') await agent.rpc('tasks/cancel', { id: asked.id });
}

/** Another person has the agent do something, in a turn that reads nothing from outside. */
async function haveAva(task: OrderedCall): Promise<void> {
  const parts = [{ kind: 'text', text: obedient.order('ava', [task]) }];
  const message = { role: 'user', messageId: crypto.randomUUID(), parts };
  const given = post({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } });
  const handed = { authorization: `Bearer ${serviceToken}`, [principalHeader]: encodePrincipal(ava) };
  const response = await agent.fetch('/a2a', { ...given, headers: { ...given.headers, ...handed } });
  const { result } = (await response.json()) as { result: WireTask };
  expect(result.status.state).toBe('completed');
  expect(model.chats().at(-1)?.messages.at(-1)?.content).toMatch(/^Wrote /);
}

beforeAll(async () => {
  const text = { 'content-type': 'text/plain' };
  const page = (body: () => string) => () => ({ headers: text, body: body() });
  outside.on(
    'GET /page',
    page(() => planted),
  );
  outside.on(
    'GET /plain',
    page(() => `The tide is high at noon. More at ${outside.url}/more and ${elsewhere()}.`),
  );
  outside.on(
    'GET /more',
    page(() => 'It is low at six.'),
  );
  outside.on(
    'GET /letters',
    page(() => letters().join(' ')),
  );
  outside.on('GET /go', ({ query }) => ({ status: 302, headers: { location: query.get('to') ?? '/' } }));
  outside.on('GET /moved', () => ({ status: 302, headers: { location: '/more' } }));
  outside.on('GET /paper.pdf', () => ({
    headers: { 'content-type': 'application/pdf' },
    body: Buffer.from(pdfOf('About tides', ...linesOf(planted))).toString('latin1'),
  }));
  outside.on('GET /search', () => ({
    body: { results: [{ title: 'Tides', url: elsewhere(), content: planted || 'High at noon.' }] },
  }));
  attacker.on('GET /letter/:letter', () => ({ headers: text, body: 'Noted.' }));
  attacker.on('GET /linked', () => ({ headers: text, body: 'A page that others linked to.' }));
  await Promise.all([outside.listen(), attacker.listen()]);
  // The same endpoint plays the other agent.
  model = await startModelServer({
    script: (request) => (request.model === 'scout' ? planted || 'High at noon.' : obedient.reply(request)),
  });
  shelf = await startMcpServer({ tools: [], say: () => planted || 'High at noon.' });
  const box = { name: 'box', command: process.execPath, args: [mcpProgram, 'echo'] };
  const config = {
    filesystem: { run_command: true },
    knowledge: { embeddings: 'off' },
    mcp: { servers: [box, { name: 'shelf', url: shelf.url, sampling: { calls_per_hour: 100 } }] },
    delegates: [{ name: 'scout', type: 'compat', url: model.url, model: 'scout' }],
  };
  writeSkill('Look out of the window.');
  agent = await startAgent({
    home: home.path,
    config: JSON.stringify(config),
    serviceToken,
    env: {
      ...modelEnvironment(model.url),
      SEARXNG_URL: outside.url,
      FETCH_ALLOWED_HOSTS: '127.0.0.1',
      A2A_GRPC_PORT: '0',
    },
  });
  await acceptDescriptions(agent.url);
  const card = await grpcCard();
  outside.on('GET /.well-known/agent-card.json', () => ({ body: card }));
  workspace = join(home.path, 'agent', 'workspace');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'keep.md'), 'keep');
});
afterAll(async () => {
  await agent.stop();
  await Promise.all([model.stop(), shelf.stop(), outside.stop(), attacker.stop()]);
  home.remove();
});
beforeEach(() => {
  planted = '';
  attacker.requests.length = 0;
});

/** Short enough for the width of a page. */
const linesOf = (text: string) => text.match(/.{1,60}(?:\s|$)/g) ?? [];
/** An address of another host that stands in the plain page and in the search results. */
const elsewhere = () => `${attacker.url}/linked`;
/** An address for each letter, so that reading them spells a word. */
const letters = () => [...'abcdefgh'].map((letter) => `${attacker.url}/letter/${letter}`);
const values = () => ({ attacker: attacker.url, site: outside.url, elsewhere: elsewhere(), secret });
const isFenced = (content: unknown) => /<outside-[0-9a-f]{24} from=/.test(JSON.stringify(content));

describe.each(controls)('$id', ({ id, turns, expect: expected }) => {
  it(
    expected === 'allow' ? 'goes on without a question' : 'waits for a person at its last call',
    async () => {
      const contextId = crypto.randomUUID();
      // An empty inbox holds no text of others.
      if (JSON.stringify(turns).includes('check_inbox'))
        await agent.fetch('/api/inbox', post({ text: 'High at noon.', source: 'eve' }));
      let task: WireTask | undefined;
      for (const [index, { says, calls = [] }] of filled(turns, values()).entries()) {
        const ordered = calls.flatMap((given) =>
          Object.entries(given).map(([name, input]) => call(name, input)),
        );
        task = await agent.send(`${says} ${obedient.order(`${id}-${index}`, ordered)}`, { contextId });
        const waits = expected === 'ask' && index === turns.length - 1;
        expect(task.status.state).toBe(waits ? 'input-required' : 'completed');
        const results = model
          .chats()
          .at(-1)!
          .messages.filter(({ role }) => role === 'tool')
          .map(({ content }) => String(content));
        expect(results.filter((result) => /^(?:<outside-[^>]+>\n)?Error/.test(result))).toEqual([]);
        expect(results.length).toBeGreaterThanOrEqual(ordered.length - (waits ? 1 : 0));
      }
      if (expected === 'ask') await agent.rpc('tasks/cancel', { id: task?.id });
    },
  );
});

describe.each(attacks)('$id', (attack) => {
  it('causes no effect: the task waits for a person', async () => {
    const { id, door, text } = attack;
    const { enter, isVouchedFor, isApart, send = (said: string) => agent.send(said) } = doors[door]!;
    const calls = callsOf(attack, values());
    planted = `${text} ${obedient.order(id, calls)}`;
    const entrance = await enter(planted);
    const before = model.chats().length;
    const words = `The code is ${secret}. Look at ${outside.url}/page.`;
    const order = entrance.length === 0 ? '' : obedient.order('enter', entrance);
    const task = await send(`${words} ${order}`);
    const asked = model
      .chats()
      .slice(before)
      .filter((chat) => chat.model !== 'scout' && !isMaking(chat.messages));
    if (isApart) {
      expect(task.status.state).toBe('completed');
      const [, apart] = asked;
      expect(JSON.stringify(apart?.messages)).toContain(id);
      expect(JSON.stringify(apart?.messages)).not.toContain(secret);
      expect(apart?.tools ?? []).toEqual([]);
      expect(asked).toHaveLength(3);
      return;
    }
    const isRefused = attack.expect === 'refuse';
    if (isRefused) expect(withoutFence(asked.at(-1)?.messages.at(-1)?.content)).toMatch(/^Error: /);
    else expect(task.status.message?.parts[0]?.text).toContain('Only the operator can approve it');
    expect(task.status.state).toBe(isRefused ? 'completed' : 'input-required');
    // The model read the text in its fence, obeyed, and got no result.
    if (!isVouchedFor) expect(isFenced(asked[entrance.length]?.messages.at(-1)?.content)).toBe(true);
    expect(asked).toHaveLength(entrance.length + calls.length + (isRefused ? 1 : 0));
    expect(attacker.requests).toEqual([]);
    if (!isRefused) await agent.rpc('tasks/cancel', { id: task.id });
  });
});

it('has cases for every door, a door for every case, and left no trace', () => {
  expect(new Set(attacks.map(({ door }) => door))).toEqual(new Set(Object.keys(doors)));
  const ids = [...attacks, ...controls].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(readdirSync(workspace).filter((name) => name.includes('owned'))).toEqual([]);
  expect(readFileSync(join(workspace, 'keep.md'), 'utf8')).toBe('keep');
});
