import { McpClients } from '@trunkline/mcp';
import { type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  answerText,
  modelEnvironment,
  post,
  startAgent,
  type TestAgent,
} from '../../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer();
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), CORE_INSTANCE: 'one' },
    config: 'subagents: [{ name: digger, description: Digs }]\nknowledge: { embeddings: "off" }',
  });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

const call = async (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
  const response = await agent.fetch(path, body === undefined ? { method } : { ...post(body), method });
  return { status: response.status, body: await response.json() };
};

describe('the console API [A129]', () => {
  it('tells what runs', async () => {
    expect((await call('/api/runtime/status')).body).toMatchObject({
      name: 'trunkline-agent',
      instance: 'one',
      graph_compiled: true,
      running_turns: 0,
      model: { name: 'test-model' },
    });
    const { tools } = (await call('/api/tools')).body;
    expect(tools).toContainEqual(expect.objectContaining({ name: 'ask_human', waits: true }));
    expect(tools).toContainEqual(expect.objectContaining({ name: 'current_time', waits: false }));
    expect((await call('/api/skills')).body).toEqual({ skills: [] });
  });

  it('gives a helper work', async () => {
    model.enqueue('A hole.');
    expect((await call('/api/subagents')).body.subagents).toMatchObject([{ name: 'digger' }]);
    const ran = await call('/api/subagents/digger/run', { prompt: 'dig' });
    expect(ran.body).toEqual({ ok: true, result: 'A hole.' });
    expect((await call('/api/subagents/nobody/run', { prompt: 'dig' })).status).toBe(404);
    expect((await call('/api/subagents/digger/run', { prompt: '' })).status).toBe(400);
  });

  it('reads and replaces the notes, unless they have changed meanwhile', async () => {
    const { body } = await call('/api/notes/workspace');
    expect(body).toMatchObject({ version: 1 });
    expect((await call('/api/notes/workspace', body, 'PUT')).status).toBe(200);
    expect((await call('/api/notes/workspace', body, 'PUT')).status).toBe(409);
    expect((await call('/api/notes/workspace', { nonsense: 1 }, 'PUT')).status).toBe(400);
  });

  it('shares the task board with the agent [A089]', async () => {
    const { issue } = (await call('/api/beads/issues', { title: 'Paint' })).body;
    model.enqueue({ toolCalls: [{ name: 'beads_list', arguments: {} }] }, 'One issue.');
    await agent.send('What is on the board?');
    expect(JSON.stringify(model.chats().at(-1)?.messages.at(-1))).toContain('Paint');
    await call(`/api/beads/issues/${issue.id}`, { status: 'closed', reason: 'done' }, 'PATCH');
    expect((await call('/api/beads/issues')).body.issues).toEqual([]);
    expect((await call('/api/beads/issues?include_closed=1')).body.issues).toMatchObject([
      { status: 'closed' },
    ]);
    expect((await call('/api/beads/issues/bd-99', { status: 'open' }, 'PATCH')).status).toBe(404);
    expect((await call('/api/beads/issues', { title: '', priority: 9 })).status).toBe(400);
  });

  it('finds what the agent was told to remember [A081]', async () => {
    model.enqueue(
      {
        toolCalls: [{ name: 'memory_ingest', arguments: { content: 'The shed is green.', heading: 'shed' } }],
      },
      'Noted.',
    );
    await agent.send('Remember that the shed is green.');
    expect((await call('/api/knowledge/search?q=shed')).body.results).toMatchObject([
      { content: 'The shed is green.' },
    ]);
    expect((await call('/api/knowledge/search')).status).toBe(400);
  });

  it('plans and cancels scheduled turns', async () => {
    const { job } = (await call('/api/scheduler/jobs', { prompt: 'wake up', when: '0 7 * * *' })).body;
    expect((await call('/api/scheduler/jobs')).body.jobs).toMatchObject([{ id: job.id, prompt: 'wake up' }]);
    expect((await call('/api/scheduler/jobs', { prompt: 'x', when: 'whenever' })).status).toBe(400);
    expect((await call(`/api/scheduler/jobs/${job.id}`, undefined, 'DELETE')).status).toBe(200);
    expect((await call(`/api/scheduler/jobs/${job.id}`, undefined, 'DELETE')).status).toBe(404);
  });

  it('lists and drops goals', async () => {
    expect((await call('/api/goals')).body).toEqual({ goals: [] });
    expect((await call('/api/goals/none', undefined, 'DELETE')).status).toBe(200);
  });

  it('lists tasks and stops one that waits', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Why?' } }] });
    const task = await agent.send('Wonder.');
    const waiting = (await call('/api/tasks?state=input-required')).body;
    expect(waiting).toMatchObject({ total: 1, tasks: [{ id: task.id, asked: 'Wonder.', text: 'Why?' }] });
    expect((await call(`/api/tasks/${task.id}/cancel`, {})).body.task).toMatchObject({ state: 'canceled' });
    expect((await call(`/api/tasks/${task.id}`)).body.task).toMatchObject({ state: 'canceled' });
    expect((await call('/api/tasks/nobody')).status).toBe(404);
    expect((await call('/api/tasks?page=garbage')).status).toBe(400);
    expect((await call('/api/tasks?state=asleep')).status).toBe(400);
  });

  it('serves its tools to MCP clients, those that wait left out', async () => {
    const clients = new McpClients({ clientName: 'test', logger: { warn: () => undefined } });
    await clients.configure([{ name: 'it', url: `${agent.url}/mcp` }]);
    const names = clients.tools.map(({ name }) => name);
    expect(names).toContain('it_calculator');
    for (const name of ['it_ask_human', 'it_run_command']) expect(names).not.toContain(name);
    const input = { expression: '2**5' };
    const signal = new AbortController().signal;
    const result = await clients.get('it')?.call('calculator', input, { key: 'c', mayAsk: false, signal });
    expect(result).toEqual({ text: '2**5 = 32', failed: false });
    await clients.close();
    expect((await call('/api/mcp/servers')).body).toEqual({ servers: [] });
  });

  it('counts cost and latency by model', async () => {
    expect((await call('/api/telemetry')).body).toMatchObject({
      models: [{ model: 'test-model', calls: expect.any(Number), latency_ms: { p95: expect.any(Number) } }],
    });
  });
});

it('hands work to delegates of the configuration, and shows plugins [A091] [A093] [A129]', async () => {
  const other = await startAgent({ env: modelEnvironment(model.url), config: 'subagents: []' });
  const near = await startAgent({
    env: modelEnvironment(model.url),
    config: `
delegates:
  - { name: other, type: a2a, url: "${other.url}", description: Knows more }
  - { name: gone, type: compat, url: "http://127.0.0.1:1/v1", model: m }
plugins: { enabled: [repo] }
`,
  });
  const json = async (path: string, init?: RequestInit) => (await near.fetch(path, init)).json();
  expect(await json('/api/delegates')).toMatchObject({ delegates: [{ name: 'other' }, { name: 'gone' }] });
  model.enqueue('Here.');
  expect(await json('/api/delegates/other/test', post({ query: 'there?' }))).toEqual({
    ok: true,
    answer: 'Here.',
  });
  expect(await json('/api/delegates/gone/test', post({}))).toMatchObject({ ok: false });
  expect((await near.fetch('/api/delegates/none/test', post({}))).status).toBe(404);
  model.enqueue(
    { toolCalls: [{ name: 'delegate_to', arguments: { target: 'other', query: 'six?' } }] },
    'Six.',
    'It is six.',
  );
  expect(answerText(await near.send('Ask the other.'))).toBe('It is six.');
  expect((await json('/api/plugins')).plugins).toMatchObject([
    { id: 'chat', state: 'off' },
    { id: 'repo', state: 'on', tools: expect.arrayContaining(['repo_get_pr']) },
    { id: 'cloud', state: 'off' },
  ]);
  await near.stop();
  await other.stop();
});

it('answers 409 for what is not loaded', async () => {
  const bare = await startAgent({ config: 'middleware: { knowledge: false, scheduler: false }' });
  for (const path of ['/api/knowledge/search?q=x', '/api/scheduler/jobs']) {
    const response = await bare.fetch(path);
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { detail: expect.stringContaining('not loaded') },
    ]);
  }
  await bare.stop();
});
