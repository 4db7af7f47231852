import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LiveTask } from '../engine/live-task.ts';
import type { SharedTask } from '../engine/shared-tasks.ts';
import { begin, echo, SteppedAgent, sending } from '../fixtures/agents.ts';
import { rpc, saying } from '../fixtures/calls.ts';
import { type AgentScript, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { startWebhook, type Webhook } from '../fixtures/webhook.ts';
import { isTerminal } from '../protocol/model.ts';
import type { SharedWebhook } from './push-store.ts';

type Entry = { from: string } & ({ shared: SharedTask } | { webhook: SharedWebhook });

const running = new Set<TestAgent>();
const close = async (agent: TestAgent) => {
  running.delete(agent);
  await agent.close();
};
let hook: Webhook;
beforeAll(async () => {
  hook = await startWebhook();
});
afterAll(async () => {
  for (const agent of running) {
    await agent.close();
    agent.directory.remove();
  }
  await hook.close();
});

/** Services with the same tasks, which all read one log, with what they wrote themselves, when the test says so. */
function sharing() {
  const log: Entry[] = [];
  const places = new Map<string, number>();
  /** The log takes no webhooks. */
  let isAway = false;
  async function start(from: string, script: AgentScript, temporary?: TemporaryDirectory) {
    let agent: TestAgent | undefined;
    const share = async (live: LiveTask) => {
      const { runner: _, ...task } = live.snapshot();
      const events = agent?.engine.eventsAfter(live, 0) ?? [];
      log.push({ from, shared: { task, sequence: live.sequence, events } });
    };
    const shareWebhook = async (webhook: SharedWebhook) => {
      if (!isAway) log.push({ from, webhook });
      return !isAway;
    };
    const push = { allowedHosts: ['127.0.0.1'] };
    agent = await startAgent(script, { share, shareWebhook, push, ...(temporary && { temporary }) });
    running.add(agent);
    return agent;
  }
  function read(name: string, agent: TestAgent): void {
    for (const { from, ...entry } of log.slice(places.get(name) ?? 0)) {
      const isOwn = from === name;
      if ('webhook' in entry) {
        if (!isOwn) agent.takeWebhook(entry.webhook);
      } else if (!isOwn)
        agent.engine.shared.take({ ...entry.shared, task: { ...entry.shared.task, runner: from } });
      else if (isTerminal(entry.shared.task.state)) agent.engine.shared.confirmEnd(entry.shared.task.id);
    }
    places.set(name, log.length);
  }
  const setAway = (value: boolean) => (isAway = value);
  return { start, read, length: () => log.length, setAway };
}

/** Until the service has noted that the webhook took the end of the task. */
const isTold = (agent: TestAgent, taskId: string) =>
  waitFor(() => agent.push?.deliveries(taskId).at(-1)?.state === 'completed');

/** What a path of the webhook was told last of all, once something else was told after it. */
async function toldAt(agent: TestAgent, path: string, isRead: () => void): Promise<string[]> {
  const after = `/hook/after${path}`;
  const url = `http://127.0.0.1:${hook.port}${after}`;
  const { result } = await rpc(agent, 'message/send', sending('hi', { url }));
  isRead();
  await isTold(agent, String(result.id));
  const calls = hook.calls.filter((call) => call.path === path && call.body.final === true);
  return calls.map(({ body }) => (body as { status: { state: string } }).status.state);
}

it('tells the end once where two services end a task: the one whose end stands does', async () => {
  const { start, read } = sharing();
  const [one, other] = [await start('one', new SteppedAgent().script), await start('other', echo)];
  const id = await begin(one, { url: `${hook.url}/both` });
  read('other', other);
  expect((await rpc(other, 'tasks/pushNotificationConfig/get', { id })).result).toMatchObject({ taskId: id });
  await rpc(other, 'tasks/cancel', { id });
  await rpc(one, 'tasks/cancel', { id });
  for (const [name, agent] of Object.entries({ one, other })) read(name, agent);
  const states = (agent: TestAgent) => agent.push?.deliveries(id).map(({ state }) => state);
  await waitFor(() => states(other)?.includes('canceled'));
  expect(await toldAt(other, '/hook/both', () => read('other', other))).toEqual(['canceled']);
  expect(states(one)).not.toContain('canceled');
});

it('tells the end to a webhook that was given to another service before that one knew of it', async () => {
  const { start, read } = sharing();
  const [one, other] = [await start('one', echo), await start('other', echo)];
  const stepped = new SteppedAgent();
  const runner = await start('runner', stepped.script);
  const { result } = await rpc(
    runner,
    'message/send',
    saying('hi', {}, { configuration: { blocking: false } }),
  );
  const taskId = String(result.id);
  for (const [name, agent] of Object.entries({ one, other })) read(name, agent);
  stepped.step({ type: 'completed', text: 'done' });
  await waitFor(() => runner.engine.get(taskId).state === 'completed');
  const given = { taskId, pushNotificationConfig: { url: `${hook.url}/late` } };
  await rpc(other, 'tasks/pushNotificationConfig/set', given);
  for (const [name, agent] of Object.entries({ one, other, runner })) read(name, agent);
  await waitFor(() => runner.push?.deliveries(taskId).length === 1);
  // Whoever knows of the end tells it to those that come later.
  await rpc(one, 'tasks/pushNotificationConfig/set', {
    taskId,
    pushNotificationConfig: { id: 'later', url: `${hook.url}/later` },
  });
  for (const [name, agent] of Object.entries({ one, other, runner })) read(name, agent);
  expect(await toldAt(one, '/hook/late', () => read('one', one))).toEqual(['completed']);
  expect(await toldAt(one, '/hook/later', () => read('one', one))).toEqual(['completed']);
});

it('tells an end that nobody had confirmed before a restart, once', async () => {
  const { start, read, length } = sharing();
  const temporary = temporaryDirectory();
  const first = await start('one', echo, temporary);
  const { result } = await rpc(first, 'message/send', sending('hi', { url: `${hook.url}/restart` }));
  await close(first);
  const second = await start('one', echo, temporary);
  read('one', second);
  await isTold(second, String(result.id));
  expect(await toldAt(second, '/hook/restart', () => read('one', second))).toEqual(['completed']);
  await close(second);
  const before = length();
  await start('one', echo, temporary);
  expect(length()).toBe(before);
});

it('tells after a restart only the webhooks that were not told before', async () => {
  const { start, read } = sharing();
  const temporary = temporaryDirectory();
  const first = await start('one', echo, temporary);
  const { result } = await rpc(first, 'message/send', sending('hi', { id: 'told', url: `${hook.url}/told` }));
  const taskId = String(result.id);
  read('one', first);
  await isTold(first, taskId);
  hook.answerWith(503);
  const pushNotificationConfig = { id: 'away', url: `${hook.url}/away` };
  await rpc(first, 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
  await waitFor(() => first.push?.deliveries(taskId).at(-1)?.status === 503);
  await close(first);
  const second = await start('one', echo, temporary);
  read('one', second);
  expect(await toldAt(second, '/hook/told', () => read('one', second))).toEqual(['completed']);
  expect(await toldAt(second, '/hook/away', () => read('one', second))).toEqual(['completed', 'completed']);
});

it('shares after a restart what could not be shared before it, as it stands then, and tells no webhook twice', async () => {
  const { start, read, length, setAway } = sharing();
  const temporary = temporaryDirectory();
  const stepped = new SteppedAgent();
  const other = await start('other', stepped.script);
  const taskId = await begin(other, { id: 'old', url: `${hook.url}/old` });
  const first = await start('one', echo, temporary);
  read('one', first);
  setAway(true);
  const set = (id: string) => ({ taskId, pushNotificationConfig: { id, url: `${hook.url}/${id}` } });
  for (const id of ['kept', 'gone']) await rpc(first, 'tasks/pushNotificationConfig/set', set(id));
  for (const pushNotificationConfigId of ['old', 'gone'])
    await rpc(first, 'tasks/pushNotificationConfig/delete', { id: taskId, pushNotificationConfigId });
  await close(first);
  setAway(false);
  const known = async () => {
    const { result } = await rpc(other, 'tasks/pushNotificationConfig/list', { id: taskId });
    return (result as unknown as { pushNotificationConfig: { id: string } }[]).map(
      ({ pushNotificationConfig: { id } }) => id,
    );
  };
  read('other', other);
  expect(await known()).toEqual(['old']);
  const second = await start('one', echo, temporary);
  read('other', other);
  expect(await known()).toEqual(['kept']);
  await close(second);
  const before = length();
  await close(await start('one', echo, temporary));
  expect(length()).toBe(before);
  stepped.step({ type: 'completed', text: 'done' });
  await waitFor(() => other.engine.get(taskId).state === 'completed');
  read('other', other);
  await waitFor(() => other.push?.deliveries(taskId).some(({ state }) => state === 'completed'));
  const told = hook.calls.filter(({ path, body }) => path.startsWith('/hook/') && body.final === true);
  expect(told.filter(({ path }) => path === '/hook/kept')).toHaveLength(1);
  expect(told.filter(({ path }) => path === '/hook/old' || path === '/hook/gone')).toEqual([]);
});

it('deletes all webhooks of a task, also one of which whoever deletes them does not know yet', async () => {
  const { start, read } = sharing();
  const runner = await start('runner', new SteppedAgent().script);
  const [one, other] = [await start('one', echo), await start('other', echo)];
  const taskId = await begin(runner, { id: 'first', url: `${hook.url}/first` });
  for (const [name, agent] of Object.entries({ one, other })) read(name, agent);
  const pushNotificationConfig = { id: 'unread', url: `${hook.url}/unread` };
  await rpc(other, 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
  await one.push?.delete(taskId, undefined);
  for (const [name, agent] of Object.entries({ runner, other })) read(name, agent);
  expect([runner, other].map(({ push }) => push?.list(taskId))).toEqual([[], []]);
});
