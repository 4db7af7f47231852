import { FakeClock, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asksForName, begin, echo, SteppedAgent, sending } from '../fixtures/agents.ts';
import { rpc, saying } from '../fixtures/calls.ts';
import { type AgentScript, startAgent } from '../fixtures/start-agent.ts';
import { startWebhook, type Webhook } from '../fixtures/webhook.ts';

let hook: Webhook;
const temporary = temporaryDirectory();

beforeAll(async () => {
  hook = await startWebhook();
});

afterAll(async () => {
  await hook.close();
  temporary.remove();
});

const start = (script: AgentScript, clock: FakeClock) =>
  startAgent(script, { temporary, clock, push: { allowedHosts: ['127.0.0.1'] } });

describe('webhooks over a restart', () => {
  it('keeps telling them, and tells what the restart itself ended [A026] [A111]', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const first = await start(new SteppedAgent().script, clock);
    const working = await begin(first, { url: `${hook.url}/working`, token: 'kept' });
    await first.close();
    const second = await start(asksForName, clock);
    await waitFor(() => hook.calls.some(({ body }) => body.final === true));
    expect(hook.calls.at(-1)).toMatchObject({
      path: '/hook/working',
      headers: { authorization: 'Bearer kept' },
      body: {
        taskId: working,
        status: { state: 'failed', message: { parts: [{ text: 'interrupted by server restart' }] } },
      },
    });
    await second.close();
  });

  it('tells an answer that comes after the restart', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const first = await start(asksForName, clock);
    const { result } = await rpc(first, 'message/send', sending('hi', { url: `${hook.url}/answered` }));
    await first.close();
    const second = await start(asksForName, clock);
    await rpc(second, 'message/send', saying('Ada', { taskId: result.id }));
    const told = () => hook.calls.filter(({ path }) => path === '/hook/answered').at(-1)?.body;
    await waitFor(() => told()?.artifact);
    expect(told()).toMatchObject({ artifact: { parts: [{ text: 'Hello Ada' }] } });
    await second.close();
  });

  it('sends an end that the last process could not, and no end twice', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const first = await start(echo, clock);
    const { result } = await rpc(first, 'message/send', saying('hi'));
    const taskId = String(result.id);
    hook.answerWith(503);
    const path = '/hook/unsent';
    await rpc(first, 'tasks/pushNotificationConfig/set', {
      taskId,
      pushNotificationConfig: { url: `http://127.0.0.1:${hook.port}${path}` },
    });
    await waitFor(() => first.push?.deliveries(taskId).length === 1);
    await first.close();
    const second = await start(echo, clock);
    await waitFor(() => second.push?.deliveries(taskId).at(-1)?.outcome === 'delivered');
    await second.close();
    const third = await start(echo, clock);
    await rpc(third, 'message/send', sending('hi', { url: `${hook.url}/after` }));
    await waitFor(() => hook.calls.some((call) => call.path === '/hook/after' && call.body.final === true));
    expect(hook.calls.filter((call) => call.path === path)).toHaveLength(2);
    await third.close();
  });

  it('forgets a webhook after a day [A026] [A183]', async () => {
    const clock = new FakeClock('2026-03-01T12:00:00Z');
    const agent = await start(asksForName, clock);
    const { result } = await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    const taskId = String(result.id);
    await waitFor(() => agent.push?.deliveries(taskId).some(({ state }) => state === 'input-required'));
    await clock.advanceBy(23 * 3_600_000);
    expect(agent.push?.list(taskId)).toHaveLength(1);
    await clock.advanceBy(2 * 3_600_000);
    expect(agent.push?.list(taskId)).toHaveLength(0);
    expect(agent.push?.deliveries(taskId)).toHaveLength(0);
    await agent.close();
  });
});
