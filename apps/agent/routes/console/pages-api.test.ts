// What the pages of the console ask for beyond the stores themselves.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSse } from '@trunkline/http';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer();
  agent = await startAgent({
    env: { ...modelEnvironment(model.url), AUDIT_PATH: '' },
    config: '# kept\nknowledge: { embeddings: "off" }\n',
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

describe('tasks', () => {
  it('tells what happened to a task, page by page, and takes an answer', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which?' } }] });
    const { id } = await agent.send('Choose');
    const { task } = (await call(`/api/tasks/${id}`)).body;
    expect(task).toMatchObject({ state: 'input-required', question: { text: 'Which?' }, origin: 'a2a' });
    model.enqueue('That one.');
    expect((await call(`/api/tasks/${id}/answer`, { text: 'this' })).status).toBe(200);
    await waitFor(async () => (await call(`/api/tasks/${id}`)).body.task.state === 'completed');
    const first = (await call(`/api/tasks/${id}/events?limit=2`)).body;
    expect(first.events).toMatchObject([
      { sequence: 1, type: 'status', state: 'input-required' },
      { sequence: 2 },
    ]);
    const rest = (await call(`/api/tasks/${id}/events?after=${first.next}`)).body;
    expect([rest.events.at(-1).state, rest.next]).toEqual(['completed', null]);
    expect((await call(`/api/tasks/${id}/answer`, { text: 'late' })).status).toBe(400);
    expect((await call(`/api/tasks/${id}/deliveries`)).body).toEqual({ deliveries: [] });
    expect((await call('/api/tasks/nothing/events')).status).toBe(404);
  });
});

describe('memory', () => {
  it('is listed page by page, mended, and forgotten', async () => {
    for (const content of ['apples are red', 'pears are green', 'plums are blue']) {
      await call('/api/knowledge/chunks', { content, domain: 'fruit', heading: content.split(' ')[0] });
    }
    const first = (await call('/api/knowledge/chunks?domain=fruit&limit=2')).body;
    expect(first.chunks.map(({ heading }: { heading: string }) => heading)).toEqual(['plums', 'pears']);
    const cursor = encodeURIComponent(first.next);
    const second = (await call(`/api/knowledge/chunks?domain=fruit&limit=2&before=${cursor}`)).body;
    expect(second).toMatchObject({ chunks: [{ heading: 'apples' }], next: null });
    const { id } = second.chunks[0];
    await call(`/api/knowledge/chunks/${id}`, { content: 'apples are yellow' }, 'PUT');
    expect((await call('/api/knowledge/search?q=yellow')).body.results).toMatchObject([
      { id, heading: 'apples' },
    ]);
    expect((await call('/api/knowledge/search?q=red')).body.results).toEqual([]);
    expect((await call('/api/knowledge/stats')).body.domains).toEqual([{ domain: 'fruit', chunks: 3 }]);
    expect((await call(`/api/knowledge/chunks/${id}`, undefined, 'DELETE')).status).toBe(200);
    expect((await call(`/api/knowledge/chunks/${id}`, { content: 'x' }, 'PUT')).status).toBe(404);
  });
});

describe('schedules', () => {
  it('tell their next times, rest, go on, and run at once', async () => {
    await call('/api/scheduler/jobs', { prompt: 'report', when: '0 9 * * *', job_id: 'daily' });
    const daily = async () => (await call('/api/scheduler/jobs')).body.jobs[0];
    expect((await daily()).upcoming).toHaveLength(5);
    expect((await call('/api/scheduler/jobs/daily/pause', {})).status).toBe(200);
    expect(await daily()).toMatchObject({ paused: true });
    expect((await daily()).next).toBeUndefined();
    await call('/api/scheduler/jobs/daily/resume', {});
    expect(await daily()).toMatchObject({ paused: false, next: expect.any(String) });
    model.enqueue('Reported.');
    expect((await call('/api/scheduler/jobs/daily/run', {})).status).toBe(200);
    await waitFor(async () => JSON.stringify((await call('/api/activity')).body).includes('Reported.'));
    expect((await call('/api/scheduler/jobs/nothing/run', {})).status).toBe(400);
  });

  it('keep the wall time of the zone that they name', async () => {
    const job = { prompt: 'digest', when: '0 7 * * *', job_id: 'digest' };
    await call('/api/scheduler/jobs', { ...job, timezone: 'Pacific/Auckland' });
    const { jobs } = (await call('/api/scheduler/jobs')).body;
    const digest = jobs.find(({ id }: { id: string }) => id === 'digest');
    expect(digest).toMatchObject({ schedule: '0 7 * * *', timezone: 'Pacific/Auckland' });
    const clock = new Intl.DateTimeFormat('en-GB', { timeZone: 'Pacific/Auckland', timeStyle: 'short' });
    const times = digest.upcoming.map((time: string) => clock.format(new Date(time)));
    expect(new Set(times)).toEqual(new Set(['07:00']));
    const refused = await call('/api/scheduler/jobs', { ...job, timezone: 'Mars/Olympus' });
    expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Mars/Olympus') } });
  });
});

describe('the audit log', () => {
  it('is read from its end, filtered, page by page, over a broken line and the file before it', async () => {
    for (let count = 0; count < 3; count += 1) {
      model.enqueue(
        { toolCalls: [{ name: 'calculator', arguments: { expression: `${count}+1` } }] },
        'Done.',
      );
      await agent.send('Count');
    }
    model.enqueue({ toolCalls: [{ name: 'calculator', arguments: { expression: '1/0' } }] }, 'Done.');
    await agent.send('Divide');
    const first = (await call('/api/audit?tool=calculator&limit=2')).body;
    expect(first.lines.map(({ result_summary }: { result_summary: string }) => result_summary)).toEqual([
      'Error: division by zero',
      '2+1 = 3',
    ]);
    const second = (await call(`/api/audit?tool=calculator&limit=2&before=${first.next}`)).body;
    expect(second.lines).toMatchObject([{ args: { expression: '1+1' } }, { args: { expression: '0+1' } }]);
    expect((await call('/api/audit?success=false')).body.lines).toHaveLength(1);
    expect((await call('/api/audit?q=DIVISION')).body.lines).toHaveLength(1);
    const file = join(agent.home, 'agent', 'audit', 'audit.jsonl');
    appendFileSync(
      `${file}.1`,
      `${JSON.stringify({ ts: '2026', tool: 'older', session_id: 's', success: true })}\n`,
    );
    appendFileSync(file, '{"ts": "cut o');
    expect((await call('/api/audit?tool=older')).body).toMatchObject({
      lines: [{ tool: 'older' }],
      next: null,
    });
    expect((await call('/api/audit?session=nobody')).body).toEqual({ lines: [], next: null });
  });
});

describe('the configuration', () => {
  it('names mistakes by their line', async () => {
    const text = 'model:\n  name: x\nnonsense: 1\nbudget: { steps: none }\n';
    const { problems } = (await call('/api/config/check', { text })).body;
    expect(problems).toMatchObject([
      { line: 3, message: expect.stringContaining('unknown key "nonsense"') },
      { line: 4, message: expect.stringContaining('steps') },
    ]);
    expect((await call('/api/config/check', { text: 'model: {}' })).body).toEqual({ problems: [] });
  });

  it('keeps every change of many who change it at once, and lets nobody write over what they did not see', async () => {
    const seen = (await call('/api/config')).body.text;
    const set = (key: string, value: number) =>
      call('/api/config', { changes: [{ op: 'set', path: ['goal', key], value }] }, 'PATCH');
    const answers = await Promise.all([
      set('max_iterations', 5),
      set('no_progress_limit', 4),
      call('/api/config', { changes: [{ op: 'set', path: ['memory', 'max_sessions'], value: 7 }] }, 'PATCH'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const now = (await call('/api/config')).body;
    expect(now.config.goal).toEqual({ max_iterations: 5, no_progress_limit: 4 });
    expect(now.config.memory.max_sessions).toBe(7);
    const late = await call('/api/config', { text: `${seen}# late\n`, before: seen }, 'PUT');
    expect([late.status, late.body.detail]).toEqual([409, expect.stringContaining('changed meanwhile')]);
    expect((await call('/api/config')).body.text).toBe(now.text);
    expect((await call('/api/config', { text: seen, before: now.text }, 'PUT')).status).toBe(200);
  });

  it('is changed value by value, and keeps its comments', async () => {
    const server = { name: 'files', command: 'nothing-of-this-name' };
    const changes = [
      { op: 'add', path: ['mcp', 'servers'], value: { ...server, enabled: false } },
      { op: 'add', path: ['mcp', 'servers'], value: { name: 'other', command: 'x', enabled: false } },
      { op: 'remove', path: ['mcp', 'servers', 1] },
    ];
    expect((await call('/api/config', { changes }, 'PATCH')).status).toBe(200);
    const { text } = (await call('/api/config')).body;
    expect(text).toContain('# kept');
    expect(text).toContain('files');
    expect(text).not.toContain('other');
    const wrong = { changes: [{ op: 'set', path: ['budget', 'steps'], value: -1 }] };
    expect((await call('/api/config', wrong, 'PATCH')).status).toBe(400);
    expect((await call('/api/config')).body.text).toBe(text);
    const tried = await call('/api/mcp/servers/test', server);
    expect(tried.body.server).toMatchObject({ name: 'files', state: 'failed' });
  });

  it('tells what is set of the model, without its key', async () => {
    const { body } = await call('/api/config/model');
    expect(body).toEqual({
      ...{ api_base: model.url, model: 'test-model', has_key: true, setup_complete: false },
      model_in_use: 'test-model',
      profile: {
        ...{ tools: 'native', text_tool_calls: false, reasoning: 'auto', omit_parameters: [] },
        ...{
          first_token_timeout_s: 900,
          idle_timeout_s: 180,
          answer_timeout_s: 7200,
          loading_timeout_s: 600,
        },
      },
    });
  });

  it('tries what the model can do, and keeps what is saved of it for all services', async () => {
    for (const answer of ['OK', 'It rains.', 'Red.']) model.enqueue(answer);
    const { body } = await call('/api/config/probe-model', {});
    expect(body.facts).toEqual({ images: true });
    expect(body.findings[0]).toMatchObject({ subject: 'answer', ok: true });
    const facts = { context_tokens: 8192, tools: 'prompted', images: false };
    expect((await call('/api/config/model-profile', { model: 'test-model', facts }, 'PUT')).status).toBe(200);
    expect((await call('/api/config/model')).body.profile).toMatchObject(facts);
    expect(readFileSync(join(agent.home, 'models.yaml'), 'utf8')).toContain('context_tokens: 8192');
    const more = {
      ...{ output_tokens: 2048, reasoning: 'open', text_tool_calls: true, omit_parameters: ['seed'] },
      ...{ answer_timeout_s: 600, loading_timeout_s: 30, price: { input: 1, output: 2.5 } },
    };
    await call('/api/config/model-profile', { model: 'test-model', facts: more }, 'PUT');
    expect((await call('/api/config/model')).body.profile).toMatchObject(more);
    const unset = Object.fromEntries(Object.keys(more).map((name) => [name, null]));
    const removed = { model: 'test-model', facts: { ...unset, context_tokens: null, idle_timeout_s: null } };
    expect((await call('/api/config/model-profile', removed, 'PUT')).status).toBe(200);
    expect(readFileSync(join(agent.home, 'models.yaml'), 'utf8')).not.toContain('context_tokens');
    expect((await call('/api/config/model')).body.profile).not.toMatchObject({ context_tokens: 8192 });
    const wrong = { model: 'test-model', facts: { context_tokens: -1 } };
    expect((await call('/api/config/model-profile', wrong, 'PUT')).status).toBe(400);
  });
});

it('shows and tries the model of all services, where the agent has none of its own', async () => {
  const home = temporaryDirectory();
  const chat = { model: 'shared-model', url: model.url, api_key: 'the-key' };
  // Images that the chat model does not see go to the one for vision: the trial must not.
  const roles = { chat, vision: { ...chat, model: 'seeing' } };
  const models = { 'shared-model': { output_tokens: 2048, images: false } };
  writeFileSync(join(home.path, 'models.yaml'), JSON.stringify({ roles, models }));
  const other = await startAgent({ home: home.path, config: 'knowledge: { embeddings: "off" }\n' });
  try {
    const view = await (await other.fetch('/api/config/model')).json();
    expect(view).toMatchObject({
      ...{ api_base: '', model: '', has_key: false, model_in_use: 'shared-model' },
      profile: { output_tokens: 2048, images: false },
    });
    const before = model.chats().length;
    for (const answer of ['OK', 'It rains.', 'Red.']) model.enqueue(answer);
    const probe = await (await other.fetch('/api/config/probe-model', post({}))).json();
    expect(probe.findings[0]).toMatchObject({ subject: 'answer', ok: true });
    expect(
      model
        .chats()
        .slice(before)
        .map((request) => request.model),
    ).toEqual(['shared-model', 'shared-model', 'shared-model']);
    // The key stays with its address.
    for (const answer of ['OK', 'It rains.', 'Red.']) model.enqueue(answer);
    const elsewhere = { api_base: `${model.url}/`, model: 'another' };
    await other.fetch('/api/config/probe-model', post(elsewhere));
    expect(model.requests.at(-1)?.headers.authorization).not.toBe('Bearer the-key');
  } finally {
    await other.stop();
    home.remove();
  }
});

describe('the role of embeddings in models.yaml', () => {
  it('makes the vectors of memories at once, unless the configuration names another', async () => {
    const vectors = () => model.requests.filter(({ path }) => path === '/v1/embeddings');
    const place = ['knowledge', 'embeddings'];
    appendFileSync(join(agent.home, 'models.yaml'), 'roles: { embeddings: embedder }\n');
    await call('/api/knowledge/chunks', { content: 'kiwis are brown', domain: 'fruit', heading: 'kiwis' });
    expect(vectors()).toEqual([]);
    // Whoever saves reads the file anew: without the role the bundled model would start.
    await call('/api/config/model-profile', { model: 'test-model', facts: { images: false } }, 'PUT');
    const removal = { changes: [{ op: 'remove', path: place }] };
    expect((await call('/api/config', removal, 'PATCH')).status).toBe(200);
    await waitFor(async () => {
      await call('/api/knowledge/search?q=brown');
      return vectors().some(({ body }) => JSON.stringify(body).includes('kiwis are brown'));
    });
    expect(vectors()[0]?.body).toMatchObject({ model: 'embedder' });
    const off = { changes: [{ op: 'set', path: place, value: 'off' }] };
    expect((await call('/api/config', off, 'PATCH')).status).toBe(200);
  });
});

describe('skills', () => {
  it('are written, switched off, and deleted', async () => {
    const skill = {
      name: 'Haiku',
      description: 'Writes one',
      tools: ['current_time'],
      body: 'Write a haiku.',
    };
    expect((await call('/api/skills/haiku', skill, 'PUT')).status).toBe(200);
    expect((await call('/api/skills')).body.skills).toEqual([{ ...skill, slug: 'haiku', enabled: true }]);
    expect(readFileSync(join(agent.home, 'agent/config/skills/haiku/SKILL.md'), 'utf8')).toContain(
      'name: Haiku',
    );
    await call(
      '/api/config',
      { changes: [{ op: 'set', path: ['skills', 'disabled'], value: ['Haiku'] }] },
      'PATCH',
    );
    await waitFor(async () => (await call('/api/skills')).body.skills[0].enabled === false);
    expect((await call('/api/skills/..%2Fescape', skill, 'PUT')).status).toBe(400);
    expect((await call('/api/skills/haiku', undefined, 'DELETE')).status).toBe(200);
    expect((await call('/api/skills/haiku', undefined, 'DELETE')).status).toBe(404);
  });
});

describe('notes', () => {
  it('keep what a person changed as a version', async () => {
    const { body } = await call('/api/notes/workspace');
    body.tabs.notes.content = 'first words';
    const saved = (await call('/api/notes/workspace', body, 'PUT')).body;
    saved.tabs.notes.content = 'second';
    const { metadata } = (await call('/api/notes/workspace', saved, 'PUT')).body.tabs.notes;
    expect(metadata).toMatchObject({ wordCount: 1, characterCount: 6 });
    expect(metadata.history.map(({ content }: { content: string }) => content)).toEqual(['', 'first words']);
  });
});

it('counts over time', async () => {
  const { points, step_ms } = (await call('/api/telemetry/series?minutes=10&steps=5')).body;
  expect([points.length, step_ms]).toEqual([5, 120_000]);
  const total = points.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0);
  expect(total).toBeGreaterThan(0);
  expect(points.at(-1).latency_ms).toMatchObject({ p50: expect.any(Number) });
});

it('tells an open console what has changed', async () => {
  const events = readSse((await agent.fetch('/api/live')).body!);
  const next = events.next();
  await call('/api/beads/issues', { title: 'Live' });
  expect(JSON.parse((await next).value!.data)).toEqual({ parts: ['board'] });
  await events.return();
});
