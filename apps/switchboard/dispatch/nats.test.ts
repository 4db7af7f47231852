import {
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

describe.skipIf(natsMissing !== undefined)('on a NATS server', () => {
  let nats: NatsServer;
  let model: ModelServer;
  const start = (home?: string) =>
    startSwitchboard({
      ...(home !== undefined && { home }),
      env: { NATS_URL: nats.url, LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
    });
  const say = (board: TestSwitchboard, correlationId: string) =>
    board.call('/publish', {
      topic: 'message.inbound.cli',
      payload: { content: correlationId },
      correlationId,
    });
  beforeAll(async () => {
    nats = await startNatsServer();
    model = await startModelServer({ script: ({ messages }) => `heard: ${messages.at(-1)?.content}` });
  });
  afterAll(async () => {
    await nats.stop();
    await model.stop();
  });

  it('brings a message to an agent and its answer back, and carries out commands', async () => {
    const board = await start();
    expect((await board.call('/healthz')).body.bus.engine).toBe('nats');
    const seen = await observe(board);
    await say(board, 'n1');
    expect((await seen.first('message.outbound.cli', 'n1')).payload.content).toBe('heard: n1');
    const made = await board.call('/api/routes', {
      name: 'bell',
      when: { topic: 'bell.rang' },
      // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
      then: { skill: 'chat', topic: 'message.outbound.cli' },
    });
    expect(made.status).toBe(201);
    await waitFor(async () => (await board.call('/api/routes')).body.data.length === 1);
    await waitFor(async () => {
      await board.call('/publish', { topic: 'bell.rang', payload: { content: 'ding' }, correlationId: 'n2' });
      return seen.messages.some((m) => m.topic === 'message.outbound.cli' && m.correlationId === 'n2');
    });
    seen.close();
    await board.stop();
  });

  it('is shared by several switchboards: each message is answered once', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const seen = await observe(one);
    const ids = Array.from({ length: 20 }, (_, index) => `shared-${index}`);
    await Promise.all(ids.map((id, index) => say(index % 2 === 0 ? one : two, id)));
    for (const id of ids) await seen.first('message.outbound.cli', id);
    const replies = seen.messages.filter(
      ({ topic, correlationId }) => topic === 'message.outbound.cli' && ids.includes(correlationId),
    );
    expect(replies).toHaveLength(ids.length);
    seen.close();
    await two.stop();
    await say(one, 'alone');
    await waitFor(async () =>
      (await one.call('/api/bus/history?correlationId=alone')).body.data.messages.some(
        ({ message }: Json) => message.topic === 'message.outbound.cli',
      ),
    );
    await one.stop();
  });

  it('takes an answer to a question, and a cancel, at whichever switchboard it is given', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const asking = one.call('/api/agent/ask-human', { correlationId: 'q1', question: 'Ship it?' });
    const requestId: string = await waitFor(
      async () => (await one.call('/api/hitl/pending')).body.data[0]?.requestId,
    );
    const answer = (board: TestSwitchboard, id: string, said: string) =>
      board.call('/api/a2a/input', { requestId: id, answer: said });
    expect((await answer(two, requestId, 'yes')).status).toBe(200);
    expect((await asking).body).toEqual({ success: true, answer: 'yes' });
    expect((await answer(two, requestId, 'no')).status).toBe(409);
    expect((await answer(two, 'nothing', 'no')).status).toBe(404);
    const forged = { topic: 'agent.input.given', payload: { requestId, answer: 'no' } };
    expect((await one.call('/publish', forged)).status).toBe(403);
    // As is a cancel: work that was asked for at one may be done at the other.
    const rpc = async (method: string, params: Json) =>
      (await one.call('/a2a', { jsonrpc: '2.0', id: 1, method, params })).body.result;
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      model.enqueue({ fault: 'stall' });
      const parts = [{ kind: 'text', text: 'stall' }];
      const message = { role: 'user', messageId: `stalled-${count}`, parts };
      ids.push((await rpc('message/send', { message, configuration: { blocking: false } })).id);
    }
    const stalled = () => model.chats().filter(({ messages }) => messages.at(-1)?.content === 'stall');
    await waitFor(() => stalled().length === ids.length);
    for (const id of ids) await rpc('tasks/cancel', { id });
    const running = async (board: TestSwitchboard) =>
      (await board.call('/api/agents')).body.data.map(({ load }: Json) => load.running);
    await waitFor(async () =>
      [...(await running(one)), ...(await running(two))].every((count) => count === 0),
    );
    await Promise.all([one.stop(), two.stop()]);
  });

  it('goes on when the server was away', async () => {
    const board = await start();
    const seen = await observe(board);
    await nats.kill();
    const published = say(board, 'n9');
    await nats.start();
    expect((await published).status).toBe(200);
    await waitFor(async () =>
      (await board.call('/api/bus/history?correlationId=n9')).body.data.messages.some(
        ({ message }: Json) => message.topic === 'message.outbound.cli',
      ),
    );
    seen.close();
    await board.stop();
  });
});
