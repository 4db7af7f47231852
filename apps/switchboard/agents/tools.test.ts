import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ChatRequestBody,
  type ModelServer,
  type ScriptedReply,
  startMcpServer,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { agent, builtInTools } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { whitelistedTools } from './agent-tools.ts';

const everyTool = [
  'publish_event',
  'get_projects',
  'get_incidents',
  'report_incident',
  'get_ceremonies',
  'run_ceremony',
];
const files = {
  'agents/ava.yaml': agent(
    'ava',
    `role: devops\ntools: [${everyTool}]\nrunCommand: true\nskills: [{ name: work }]`,
  ),
  'agents/mute.yaml': agent('mute', 'role: general\ntools: []\nskills: [{ name: talk }]'),
  'ceremonies/standup.yaml':
    'id: standup\nname: Stand-up\nschedule: 0 9 * * 1-5\nskill: sing\nenabled: false',
};

let model: ModelServer;
let board: TestSwitchboard;
let seen: Observer;
let number = 0;
beforeAll(async () => {
  model = await startModelServer({ script: (request) => readsOn(request) ?? 'fine' });
  board = await start({});
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
});

const start = (env: Record<string, string>) =>
  startSwitchboard({
    files,
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'the-key',
      LLM_MODEL: 'm',
      PATH: '/usr/bin:/bin',
      ...env,
    },
  });

const chart = { type: 'bar', title: 'Ships', labels: ['May'], series: [{ name: 'seen', values: [3] }] };

/** A model that is given the beginning of a long file reads its end, writes it down and draws it. */
function readsOn({ messages }: ChatRequestBody): ScriptedReply | undefined {
  const [, id] = /long\.txt \(text\/plain, id ([\w-]+)\)/.exec(JSON.stringify(messages)) ?? [];
  if (id === undefined || messages.at(-1)?.role === 'tool') return undefined;
  return {
    toolCalls: [
      { name: 'read_attachment', arguments: { id, from: 60_000 } },
      { name: 'write_artifact', arguments: { name: 'end.md', content: '# The end' } },
      { name: 'chart', arguments: chart },
    ],
  };
}

/** Has the model call a tool, and gives what the tool answered. */
async function use(name: string, input: Json, on = board, watched = seen): Promise<string> {
  model.enqueue({ toolCalls: [{ name, arguments: input }] }, 'done');
  const correlationId = `use-${++number}`;
  const payload = { skillHint: 'work', content: 'x' };
  await on.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
  await watched.first(`agent.skill.response.${correlationId}`);
  const last = model
    .chats()
    .at(-1)
    ?.messages.findLast(({ role }) => role === 'tool');
  return String(last?.content);
}

describe('tools of an agent', () => {
  it('are those of its whitelist and the built-in ones; a chat-only agent has none [S040]', async () => {
    const listed = async (skillHint: string, correlationId: string) => {
      const payload = { skillHint, content: 'x' };
      await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
      await seen.first(`agent.skill.response.${correlationId}`);
      return model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => tool.function.name);
    };
    expect(await listed('work', 'l1')).toEqual([...everyTool, ...builtInTools, 'run_command', 'ask_human']);
    expect(await listed('talk', 'l2')).toEqual(['ask_human']);
  });

  it('reach the model behind LLM_GATEWAY_URL with LLM_API_KEY [S045] [S046]', async () => {
    await use('get_incidents', {});
    const call = model.requests.findLast(({ path }) => path === '/v1/chat/completions');
    expect(call?.headers.authorization).toBe('Bearer the-key');
  });

  it('list ceremonies and begin one by the bus', async () => {
    expect(await use('get_ceremonies', {})).toBe('standup: Stand-up (0 9 * * 1-5 UTC, off)');
    expect(await use('run_ceremony', { id: 'none' })).toBe('Error: there is no ceremony none.');
    expect(await use('run_ceremony', { id: 'standup' })).toBe('The ceremony standup has begun.');
    expect((await seen.first('ceremony.standup.execute')).payload).toEqual({
      id: 'standup',
      requestedBy: 'ava',
    });
  });

  it('list the projects', async () => {
    const github = { owner: 'acme', repo: 'sea' };
    const project = { id: 'p', name: 'Sea', slug: 'sea', path: '/srv/sea', github, defaultBranch: 'main' };
    const answer = (projects: (typeof project)[]) => {
      const parts = { projects: { list: () => projects }, ceremonies: () => [] } as never;
      const tool = whitelistedTools(parts, { correlationId: 'c' }, { name: 'ava', publishes: [] }).find(
        ({ name }) => name === 'get_projects',
      );
      return tool?.execute?.({}, { signal: new AbortController().signal, sessionId: 's', toolCallId: 't' });
    };
    expect(await answer([project])).toBe('sea: Sea at acme/sea, branch main');
    expect(await answer([])).toBe('There are no projects.');
    expect(await use('get_projects', {})).toBe('There are no projects.');
  });

  it('read, write and search files of one directory and none outside it', async () => {
    const place = join(board.home, 'switchboard', 'files');
    expect(await use('write_file', { path: 'notes/a.txt', content: 'the sea is wide' })).toContain('Wrote');
    expect(readFileSync(join(place, 'notes/a.txt'), 'utf8')).toBe('the sea is wide');
    expect(await use('search_files', { query: 'WIDE' })).toBe('notes/a.txt:1: the sea is wide');
    writeFileSync(join(board.home, 'switchboard', 'secret.txt'), 'SECRET');
    expect(await use('read_file', { path: '../secret.txt' })).toMatch(/^Error: /);
    expect(await use('write_file', { path: '/tmp/switchboard-evil', content: 'x' })).toMatch(/^Error: /);
    expect(existsSync('/tmp/switchboard-evil')).toBe(false);
  });

  it('read on in a long file of a message, and hand files out', async () => {
    const bytes = Buffer.from(`${'The sea is wide. '.repeat(4000)}The last word.`).toString('base64');
    const parts = [
      { kind: 'text', text: 'How does it end?' },
      { kind: 'file', file: { name: 'long.txt', mimeType: 'text/plain', bytes } },
    ];
    const message = { kind: 'message', role: 'user', messageId: 'long', parts, metadata: { agent: 'ava' } };
    const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
    const { body } = await board.call('/a2a', call);
    expect(body.result.status.state).toBe('completed');
    const told = JSON.stringify(model.chats().at(-1)?.messages);
    expect(told).toContain('of 68014:');
    expect(told).toContain('The last word.');
    const files = body.result.artifacts
      .flatMap((artifact: Json) => artifact.parts)
      .map(({ file }: Json) => file);
    expect(files).toContainEqual({
      name: 'end.md',
      mimeType: 'text/markdown',
      bytes: Buffer.from('# The end').toString('base64'),
    });
    expect(files).toContainEqual(expect.objectContaining({ name: 'Ships.svg', mimeType: 'image/svg+xml' }));
  });

  it('of an MCP server ask the person in the middle of a call, and use the model within limits', async () => {
    const server = await startMcpServer({ say: () => 'Which sea?' });
    onTestFinished(() => server.stop());
    const sampling = { callsPerHour: 1 };
    const entry = { name: 'tides', trust: 'builtin', transport: 'http', url: server.url, sampling };
    expect((await board.call('/api/mcp-servers', entry)).status).toBe(201);
    const known = async () => (await board.call('/api/agents')).body.data.map(({ name }: Json) => name);
    await waitFor(async () => (await known()).includes('tides'));
    const asked = use('tides_survey', {});
    const pending = async () => (await board.call('/api/hitl/pending')).body.data;
    const { requestId } = await waitFor(async () =>
      (await pending()).find(({ question }: Json) =>
        question.includes('The MCP server tides asks: Which sea?'),
      ),
    );
    await board.call('/api/a2a/input', { requestId, answer: 'the northern one' });
    expect(await asked).toContain('Which sea? the northern one');
    // The model's second reply goes to the server.
    expect(await use('tides_sample', {})).toContain('{"type":"text","text":"done"}');
    expect(await use('tides_sample', {})).toContain('has used its 1 model calls of this hour');
  });

  it('run a command only after a person said yes', async () => {
    const answer = async (words: string, command: string) => {
      const asked = use('run_command', { command });
      const question = await expect
        .poll(async () =>
          (await board.call('/api/hitl/pending')).body.data.find((entry: Json) =>
            entry.question.includes(command),
          ),
        )
        .toBeTruthy()
        .then(async () => (await board.call('/api/hitl/pending')).body.data.at(-1));
      expect(question.question).toContain('ava: May I run this command');
      await board.call('/api/a2a/input', { requestId: question.requestId, answer: words });
      return await asked;
    };
    expect(await answer('yes', 'echo one > made.txt; cat made.txt')).toBe('one\n');
    expect(await answer('better not', 'touch never.txt')).toMatch(/^Error: the person did not approve/);
    expect(existsSync(join(board.home, 'switchboard/files/never.txt'))).toBe(false);
  });

  it('run commands unasked, or not at all, where the operator says so', async () => {
    const open = await start({ SWITCHBOARD_SHELL: 'on' });
    const watched = await observe(open);
    expect(await use('run_command', { command: 'pwd' }, open, watched)).toBe(
      `${open.home}/switchboard/files\n`,
    );
    watched.close();
    await open.stop();
    const closed = await start({ SWITCHBOARD_SHELL: 'off' });
    const looking = await observe(closed);
    await use('run_command', { command: 'pwd' }, closed, looking);
    expect(
      model
        .chats()
        .at(-1)
        ?.tools?.map((tool) => tool.function.name),
    ).not.toContain('run_command');
    looking.close();
    await closed.stop();
  });
});
