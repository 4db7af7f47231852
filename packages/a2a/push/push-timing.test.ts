import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { begin, echo, hookedAgents, SteppedAgent } from '../fixtures/agents.ts';
import { rpc, saying } from '../fixtures/calls.ts';

const start = hookedAgents();

describe('when a webhook is told', () => {
  it('tells progress at most every 1.5 seconds and then only the latest [A155] [A184]', async () => {
    const stepped = new SteppedAgent();
    const { agent, hook, clock } = await start(stepped.script);
    const taskId = await begin(agent, { url: hook.url });
    await waitFor(() => agent.push?.deliveries(taskId).length === 1);
    stepped.step({ type: 'progress', text: 'one' }, { type: 'progress', text: 'two' });
    stepped.step({ type: 'tool-start', toolCallId: 't', name: 'search' });
    await waitFor(() => agent.engine.find(taskId).sequence >= 4);
    await clock.advanceBy(1499);
    expect(hook.calls).toHaveLength(1);
    await clock.advanceBy(1);
    await waitFor(() => hook.calls.length === 2);
    expect(hook.calls[1]?.body).toMatchObject({
      status: { state: 'working', message: { parts: [{ text: 'Tool search started' }] } },
      final: false,
    });
    await clock.advanceBy(10_000);
    expect(hook.calls).toHaveLength(2);
  });

  it('does not keep the end waiting behind progress', async () => {
    const stepped = new SteppedAgent();
    const { agent, hook, clock } = await start(stepped.script);
    const taskId = await begin(agent, { url: hook.url });
    await waitFor(() => agent.push?.deliveries(taskId).length === 1);
    stepped.step({ type: 'progress', text: 'held back' }, { type: 'completed', text: 'x' });
    await waitFor(() => hook.calls.length === 2);
    await clock.advanceBy(10_000);
    expect(hook.states()).toEqual(['working', 'completed']);
  });

  it('tries again after 1, 3 and 9 seconds, and then gives up [A178] [A185]', async () => {
    const { agent, hook, clock } = await start(echo);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const taskId = String(result.id);
    hook.answerWith(500, 503, { location: 'http://127.0.0.1:1/elsewhere' }, 500);
    await rpc(agent, 'tasks/pushNotificationConfig/set', {
      taskId,
      pushNotificationConfig: { id: 'c', url: hook.url },
    });
    const attempts = () => agent.push?.deliveries(taskId) ?? [];
    for (const [count, pause] of [1000, 3000, 9000].entries()) {
      await waitFor(() => attempts().length === count + 1);
      await clock.advanceBy(pause - 1);
      expect(hook.calls).toHaveLength(count + 1);
      await clock.advanceBy(1);
    }
    await waitFor(() => attempts().length === 4);
    await clock.advanceBy(60_000);
    expect(hook.calls).toHaveLength(4);
    expect(attempts()).toMatchObject([
      { taskId, configId: 'c', state: 'completed', attempt: 1, outcome: 'failed', status: 500 },
      { attempt: 2, outcome: 'failed', status: 503 },
      { attempt: 3, outcome: 'failed' },
      { attempt: 4, outcome: 'failed', status: 500 },
    ]);
    const log = await fetch(`${agent.url}/a2a/tasks/${taskId}/pushDeliveries`);
    expect(await log.json()).toEqual({ deliveries: attempts() });
  });

  it('delivers with a later attempt', async () => {
    const { agent, hook, clock } = await start(echo);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const taskId = String(result.id);
    hook.answerWith(502);
    await rpc(agent, 'tasks/pushNotificationConfig/set', {
      taskId,
      pushNotificationConfig: { url: hook.url },
    });
    await waitFor(() => agent.push?.deliveries(taskId).length === 1);
    await clock.advanceBy(1000);
    await waitFor(() => agent.push?.deliveries(taskId).length === 2);
    expect(agent.push?.deliveries(taskId)[1]).toMatchObject({
      attempt: 2,
      outcome: 'delivered',
      status: 200,
    });
  });

  it('does not insist when the receiver says 4xx [A178]', async () => {
    const { agent, hook, clock } = await start(echo);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const taskId = String(result.id);
    hook.answerWith(410);
    await rpc(agent, 'tasks/pushNotificationConfig/set', {
      taskId,
      pushNotificationConfig: { url: hook.url },
    });
    await waitFor(() => agent.push?.deliveries(taskId).length === 1);
    await clock.advanceBy(60_000);
    expect(hook.calls).toHaveLength(1);
    expect(agent.push?.deliveries(taskId)).toMatchObject([{ outcome: 'refused', status: 410 }]);
  });

  it('leaves an old state alone when there is a newer one to tell', async () => {
    const stepped = new SteppedAgent();
    const { agent, hook, clock } = await start(stepped.script);
    hook.answerWith(500);
    const taskId = await begin(agent, { url: hook.url });
    await waitFor(() => agent.push?.deliveries(taskId).length === 1);
    stepped.step({ type: 'completed', text: 'x' });
    await waitFor(() => agent.push?.deliveries(taskId).length === 2);
    await clock.advanceBy(60_000);
    expect(hook.states()).toEqual(['working', 'completed']);
  });
});
