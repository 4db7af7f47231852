import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ModelServer, startModelServer, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

let model: ModelServer;
let home: ReturnType<typeof temporaryDirectory>;
let agent: TestAgent;

beforeEach(async () => {
  model = await startModelServer();
  home = temporaryDirectory();
  agent = await startAgent(options());
});
afterEach(async () => {
  await agent.stop();
  await model.stop();
  home.remove();
});

const options = () => ({
  home: home.path,
  env: { ...modelEnvironment(model.url), CORE_INTERRUPTED_TASKS: 'resume' },
  config: 'knowledge: { embeddings: "off" }\n',
});

/** A task that has used a tool and waits for the model, which does not answer. */
async function startTask() {
  model.enqueue(
    { text: 'I count.', toolCalls: [{ name: 'calculator', arguments: { expression: '19*3' } }] },
    { fault: 'stall' },
  );
  const message = { metadata: { channel: 'chat' } };
  const task = await agent.send('How many tiles?', message, { configuration: { blocking: false } });
  await waitFor(() => model.chats().length === 2, { timeoutMs: 60_000 });
  return task;
}

async function restart() {
  await agent.stop();
  model.release();
  agent = await startAgent(options());
}

it('goes on after a restart with what the model had said and the tools had done', async () => {
  const { id, contextId } = await startTask();
  model.enqueue('You need 57.');
  await restart();
  const task = async () => (await agent.rpc('tasks/get', { id })).result;
  await waitFor(async () => (await task()).status.state !== 'working', { timeoutMs: 60_000 });
  expect(answerText(await task())).toBe('I count.\n\nYou need 57.');
  expect(model.chats().map(({ messages }) => messages.filter(({ role }) => role === 'tool').length)).toEqual([
    0, 1, 1,
  ]);

  model.enqueue('You are welcome.');
  await agent.send('Thanks.', { contextId });
  const said = model
    .chats()
    .at(-1)
    ?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  expect(said).toEqual(['How many tiles?', 'Thanks.']);
});

/** Reads or writes the turns under way, while no agent has the file. */
function withTurns<Result>(use: (database: DatabaseSync) => Result): Result {
  const files = readdirSync(home.path, { recursive: true }).map(String);
  const database = new DatabaseSync(join(home.path, files.find((file) => file.endsWith('turns.db')) ?? ''));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const rows = (sql: string) =>
  withTurns((database) =>
    database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row })),
  );

it('leaves a task that was cancelled as it is, and nothing of its steps', async () => {
  const { id } = await startTask();
  await agent.rpc('tasks/cancel', { id });
  await agent.stop();
  expect([rows('SELECT turn FROM running_turn'), rows('SELECT turn FROM turn_step')]).toEqual([[], []]);
  model.release();
  agent = await startAgent(options());
  expect((await agent.rpc('tasks/get', { id })).result.status.state).toBe('canceled');
  expect(model.chats()).toHaveLength(2);
});

it('ends a task that was taken up too often, and lets its steps go', async () => {
  const { id } = await startTask();
  await agent.stop();
  expect(rows('SELECT attempts FROM running_turn')).toEqual([{ attempts: 0 }]);
  withTurns((database) => database.exec('UPDATE running_turn SET attempts = 3'));
  model.release();
  agent = await startAgent(options());
  expect((await agent.rpc('tasks/get', { id })).result.status.state).toBe('failed');
  await agent.stop();
  expect(rows('SELECT ended_at FROM running_turn')).toEqual([{ ended_at: expect.any(Number) }]);
  agent = await startAgent(options());
});
