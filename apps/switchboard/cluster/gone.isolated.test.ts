import {
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  journalled,
  type ProcessSwitchboard,
  processHome,
  waitForCopies,
} from '../fixtures/process-switchboard.ts';
import type { Json } from '../fixtures/start-switchboard.ts';

const patient = { timeoutMs: 90_000, intervalMs: 50 };
const helm = 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n';
const flowIds = ['skill-f0', 'skill-f1', 'skill-f2'];

/** Switchboards in processes of their own on one real NATS server; the one that did the work is killed. */
describe.skipIf(natsMissing !== undefined)('after a switchboard was killed', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let homes: ReturnType<typeof processHome>[];
  let dead: ProcessSwitchboard;
  let board: ProcessSwitchboard;
  /** As the one that did the work listed it. */
  let failed: Json;
  let traces: Json[];

  const flow = async (at: ProcessSwitchboard, id: string) => (await at.call(`/api/flows/${id}`)).body.data;
  const deliveries = async (at: ProcessSwitchboard): Promise<Json[]> =>
    (await at.call('/api/deliveries?surface=router')).body.data.deliveries;
  const questions = async (at: ProcessSwitchboard): Promise<Json[]> =>
    (await at.call('/api/hitl/pending')).body.data;
  const nodes = async (at: ProcessSwitchboard) => (await at.call('/api/cluster')).body.data.nodes;
  const say = (at: ProcessSwitchboard, correlationId: string) =>
    at.call('/publish', {
      topic: 'message.inbound.cli',
      payload: { content: `Hello ${correlationId}` },
      correlationId,
    });

  beforeAll(async () => {
    nats = await startNatsServer();
    model = await startModelServer({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'user' && JSON.stringify(messages.at(-1)).includes('Hello asking')
          ? { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] }
          : 'Done.',
    });
    const environment = {
      NATS_URL: nats.url,
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
    };
    homes = [0, 1, 2].map(() => processHome(environment));
    homes[0]?.write('fleet.yaml', '');
    dead = (await homes[0]?.start()) as ProcessSwitchboard;
    await say(dead, 'lost');
    failed = await waitFor(
      async () => (await deliveries(dead)).find(({ state }) => state === 'failed'),
      patient,
    );
    homes[0]?.write('agents/helm.yaml', helm);
    await waitFor(async () => (await dead.call('/api/agents')).body.data.length > 0, patient);
    for (const id of ['f0', 'f1', 'f2']) await say(dead, id);
    traces = await waitFor(async () => {
      const flows = await Promise.all(flowIds.map((id) => flow(dead, id)));
      return flows.every((each) => each?.status === 'complete') ? flows : undefined;
    }, patient);
    await say(dead, 'asking');
    await waitFor(async () => (await questions(dead)).length === 1, patient);
    // It comes when all is done, and learns of it from the journal.
    board = (await homes[1]?.start()) as ProcessSwitchboard;
    await waitFor(async () => (await nodes(board)).length === 2, patient);
    await say(dead, 'f3');
    const { completedAt } = await waitFor(async () => {
      const last = await flow(board, 'skill-f3');
      return last?.status === 'complete' ? last : undefined;
    }, patient);
    // The last flow is shared some time after its end.
    await waitFor(async () => {
      const flows = await journalled(board, 'cluster.flows');
      return flows.some(({ timestamp }: Json) => timestamp > completedAt);
    }, patient);
    const subjects = ['flows', 'deliveries'];
    await waitForCopies({ nats, from: dead, at: [board], subjects }, patient.timeoutMs);
    await dead.child.kill('SIGKILL');
  });
  afterAll(async () => {
    await Promise.all(homes.map((home) => home.remove()));
    await model.stop();
    await nats.stop();
  });

  it('another shows its flows with their traces, and its deliveries', async () => {
    await waitFor(async () => (await nodes(board)).length === 1, patient);
    const listed = (await board.call('/api/flows?limit=1000')).body.data.flows.map(({ id }: Json) => id);
    expect(listed).toEqual(expect.arrayContaining([...flowIds, 'skill-f3']));
    for (const [index, id] of flowIds.entries()) expect(await flow(board, id)).toEqual(traces[index]);
    expect(traces[0].trace.length).toBeGreaterThan(1);
    expect(await deliveries(board)).toEqual([failed]);
  });

  it('another sends its failed delivery again, once it is gone for sure, and never calls it unknown', async () => {
    const answers: number[] = [];
    await waitFor(async () => {
      const { status } = await board.call(`/api/deliveries/${failed.id}/replay`, {});
      answers.push(status);
      return status === 202;
    }, patient);
    expect(answers.slice(0, -1).filter((status) => status !== 503)).toEqual([]);
    await waitFor(async () => (await deliveries(board))[0]?.state === 'sent', patient);
    expect(await deliveries(board)).toHaveLength(1);
    await waitFor(async () => (await flow(board, 'skill-lost'))?.status === 'complete', patient);
  });

  it('another asks what it had asked, and goes on with the answer', async () => {
    const [question] = await waitFor(async () => {
      const open = await questions(board);
      return open.length > 0 ? open : undefined;
    }, patient);
    expect(question?.question).toBe('Which colour?');
    const answer = { requestId: question?.requestId, answer: 'Blue' };
    expect((await board.call('/api/a2a/input', answer)).status).toBe(200);
    await waitFor(async () => (await flow(board, 'skill-asking'))?.status === 'complete', patient);
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('Blue');
  });

  it('one that never met it shows the same', async () => {
    const late = (await homes[2]?.start()) as ProcessSwitchboard;
    await waitFor(async () => {
      const { body } = await late.call('/api/flows?limit=1000');
      const ids = body.data.flows.map(({ id }: Json) => id);
      return flowIds.every((id) => ids.includes(id));
    }, patient);
    for (const [index, id] of flowIds.entries()) expect(await flow(late, id)).toEqual(traces[index]);
    await late.child.kill();
  });

  it('its flows, deliveries and questions stand as they were changed last when it is back', async () => {
    dead = (await homes[0]?.start()) as ProcessSwitchboard;
    await waitFor(async () => (await nodes(dead)).length >= 2, patient);
    await waitFor(async () => (await deliveries(dead)).map(({ state }) => state).join() === 'sent', patient);
    expect((await dead.call(`/api/deliveries/${failed.id}/replay`, {})).status).not.toBe(202);
    // Nobody waits for what it had asked.
    for (const at of [dead, board]) await waitFor(async () => (await questions(at)).length === 0, patient);
    const listed = (await dead.call('/api/flows?limit=1000')).body.data.flows.map(({ id }: Json) => id);
    expect(listed).toHaveLength(new Set(listed).size);
  });
});
