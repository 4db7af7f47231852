import { createLogger } from '@trunkline/config';
import { openDatabase } from '@trunkline/storage';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { ActivityFeed, openActivity } from './activity-feed.ts';
import { Telemetry } from './telemetry.ts';

const home = temporaryDirectory();
let model: ModelServer;

beforeAll(async () => {
  model = await startModelServer({
    script: () => ({ text: 'Seen to.', usage: { input: 200, output: 30 } }),
  });
});
afterAll(async () => {
  await model.stop();
  home.remove();
});

const start = () => startAgent({ home: home.path, env: modelEnvironment(model.url) });
const read = async (agent: TestAgent, path: string) => (await agent.fetch(path)).json();
const ring = (agent: TestAgent) =>
  agent.fetch('/api/inbox', post({ text: 'Fire!', priority: 'now', source: 'bell' }));
const answered = (agent: TestAgent, times: number) =>
  waitFor(async () => {
    const { events } = await read(agent, '/api/activity');
    const answers = events.filter(({ data }: { data: { text: string } }) => data.text === 'Seen to.');
    return answers.length === times && events;
  });

it('remembers what the model cost and what the feed told after a restart, and numbers go on', async () => {
  const first = await start();
  await ring(first);
  const told = await answered(first, 1);
  const { since, models } = await read(first, '/api/telemetry');
  expect(models).toMatchObject([{ model: 'test-model', input_tokens: 200, output_tokens: 30, errors: 0 }]);
  await first.stop();

  const second = await start();
  expect(await read(second, '/api/telemetry')).toMatchObject({ since, models });
  expect((await read(second, '/api/activity')).events).toEqual(told);
  await ring(second);
  const all = await answered(second, 2);
  expect(all.map(({ id }: { id: number }) => id)).toEqual([6, 5, 4, 3, 2, 1]);
  const newest = await read(second, '/api/activity?limit=2');
  expect(newest.next).toBe(5);
  expect(await read(second, `/api/activity?limit=10&before=${newest.next}`)).toEqual({
    events: all.slice(2),
    next: null,
  });
  const { points } = await read(second, '/api/telemetry/series?minutes=43200&steps=60');
  expect(points.at(-1)).toMatchObject({ calls: 2, input_tokens: 400 });
  expect((await second.fetch('/api/telemetry/series?minutes=43201')).status).toBe(400);
  await second.stop();
});

it('answers and tells readers although nothing can be kept, and says so in the log', async () => {
  const agent = await start();
  const database = openActivity(`${home.path}/agent/state`);
  database.exec('DROP TABLE model_call; DROP TABLE told');
  database.close();
  const { status } = await agent.send('Go on');
  expect(status.state).toBe('completed');
  expect((await ring(agent)).status).toBe(200);
  expect(agent.log.join('')).toContain('failed to store model call');
  expect(agent.log.join('')).toContain('failed to store feed event');
  await agent.stop();
});

it('tells how many calls have figures that were estimated, those of a file from before that was stored included', () => {
  // The first two migrations, as the release before had them.
  const old = openDatabase(`${home.path}/figures/activity.db`, {
    migrations: [
      `CREATE TABLE model_call (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, model TEXT NOT NULL,
         failed INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost_usd REAL,
         latency_ms REAL NOT NULL) STRICT;
       CREATE TABLE told (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, event TEXT NOT NULL,
         data TEXT NOT NULL) STRICT;`,
      `ALTER TABLE told ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';`,
    ],
  });
  old.prepare("INSERT INTO model_call VALUES (1, ?, 'old', 0, 300, 40, 0.5, 12)").run(Date.now() - 1000);
  old.close();
  const database = openActivity(`${home.path}/figures`);
  onTestFinished(() => database.close());
  const telemetry = new Telemetry(
    database,
    createLogger({ name: 'test', destination: { write: () => undefined } }),
  );
  const call = {
    model: 'small',
    finishReason: 'stop',
    inputTokens: 10,
    outputTokens: 5,
    costUsd: undefined,
    latencyMs: 1,
    firstTokenMs: undefined,
    error: undefined,
  };
  telemetry.record(call);
  telemetry.record({ ...call, estimated: true });
  expect(telemetry.report()).toMatchObject({
    cost_usd: 0.5,
    models: [
      { model: 'old', calls: 1, input_tokens: 300, calls_estimated: 0 },
      { model: 'small', calls: 2, input_tokens: 20, calls_estimated: 1 },
    ],
  });
  expect(telemetry.series(10, 1).points).toMatchObject([{ calls: 3, calls_estimated: 1 }]);
});

it('forgets the oldest of each owner, and nothing of others', () => {
  const database = openActivity(`${home.path}/feed`);
  onTestFinished(() => database.close());
  const feed = new ActivityFeed(
    database,
    createLogger({ name: 'test', destination: { write: () => undefined } }),
  );
  const publish = (text: string, owner: string) =>
    feed.publish({ event: 'inbox.item', data: { id: text, priority: 'next', source: null, text } }, owner);
  const seen = (id: string) => feed.events({ kind: 'person', id, via: [], role: 'member' }, 10_000);
  publish('quiet', 'person:ava');
  database.transaction(() => {
    for (let count = 0; count < 5200; count += 1) publish(`loud ${count}`, 'person:bob');
  });
  expect(seen('ava').map(({ data }) => data)).toMatchObject([{ text: 'quiet' }]);
  expect(seen('bob').length).toBeLessThanOrEqual(5100);
});
