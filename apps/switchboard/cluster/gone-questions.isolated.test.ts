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

const patient = { timeoutMs: 120_000, intervalMs: 50 };
const helm = 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n';
const outside = { correlationId: 'outside', question: 'Which size?' };

/** Switchboards in processes of their own on one real NATS server; the one that asked is killed. */
describe.skipIf(natsMissing !== undefined)('questions of a switchboard that was killed', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let homes: ReturnType<typeof processHome>[];
  let dead: ProcessSwitchboard;
  let boards: ProcessSwitchboard[];
  /** As the one that asked listed them. */
  let asked: Json[];

  const questions = async (at: ProcessSwitchboard): Promise<Json[]> =>
    (await at.call('/api/hitl/pending')).body.data;
  const idOf = (words: string) => asked.find(({ question }) => question === words)?.requestId;
  const [first, second] = [() => boards[0] as ProcessSwitchboard, () => boards[1] as ProcessSwitchboard];
  const answer = (at: ProcessSwitchboard, requestId: string, words: string) =>
    at.call('/api/a2a/input', { requestId, answer: words });
  const flow = async (at: ProcessSwitchboard) => (await at.call('/api/flows/skill-asking')).body.data;

  beforeAll(async () => {
    nats = await startNatsServer();
    model = await startModelServer({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'user'
          ? { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] }
          : 'Done.',
    });
    const environment = {
      NATS_URL: nats.url,
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      // Answers come before another goes on with the work.
      SWITCHBOARD_TAKEOVER_MS: '60000',
    };
    homes = [0, 1, 2].map(() => processHome(environment));
    for (const home of homes) home.write('agents/helm.yaml', helm);
    dead = (await homes[0]?.start()) as ProcessSwitchboard;
    const payload = { content: 'Paint it' };
    await dead.call('/publish', { topic: 'message.inbound.cli', payload, correlationId: 'asking' });
    dead.call('/api/agent/ask-human', outside).catch(() => undefined);
    await waitFor(async () => (await questions(dead)).length === 2, patient);
    asked = await questions(dead);
    boards = (await Promise.all(homes.slice(1).map((home) => home.start()))) as ProcessSwitchboard[];
    for (const board of boards)
      await waitFor(async () => (await board.call('/api/cluster')).body.data.nodes.length === 3, patient);
    const subjects = ['flows', 'questions'];
    await waitForCopies({ nats, from: dead, at: boards, subjects }, patient.timeoutMs);
    await dead.child.kill('SIGKILL');
  });
  afterAll(async () => {
    await Promise.all(homes.map((home) => home.remove()));
    await model.stop();
    await nats.stop();
  });

  it('belong to work of which the others show what is known', async () => {
    for (const board of boards) {
      const { status, trace } = await waitFor(async () => {
        const known = await flow(board);
        return known?.trace.at(-1)?.event === 'note' ? known : undefined;
      }, patient);
      expect(status).toBe('blocked');
      expect(trace.map(({ event }: Json) => event)).toEqual(['request', 'start', 'tool-start', 'note']);
      expect(trace[1].details).toMatchObject({ agent: 'helm' });
      expect(trace[2].details).toMatchObject({ name: 'ask_human', input: { question: 'Which colour?' } });
      expect(trace[3].details.text).toContain('does not answer');
    }
  });

  it('are in the lists of the others all the time, and the first answer to each is kept', async () => {
    const statuses: number[] = [];
    const kept = await waitFor(async () => {
      for (const board of boards) expect(await questions(board)).toEqual(asked);
      const { status, body } = await answer(first(), idOf('Which colour?'), 'Blue');
      statuses.push(status);
      return status === 200 ? body : undefined;
    }, patient);
    // Until it is gone for sure.
    expect(statuses.slice(0, -1).filter((status) => status !== 503)).toEqual([]);
    expect(kept).toMatchObject({ success: true, kept: true, message: expect.stringContaining('is kept') });
    // Who does not know of it yet may not be sure, and takes no other answer.
    const again = await waitFor(async () => {
      const { status } = await answer(second(), idOf('Which colour?'), 'Red');
      return status === 503 ? undefined : status;
    }, patient);
    expect(again).toBe(409);
    for (const board of boards)
      await waitFor(
        async () => (await questions(board)).map(({ question }) => question).join() === outside.question,
        patient,
      );
    expect((await answer(first(), 'of-nobody', 'Blue')).status).toBe(503);
  });

  it('get their answer at another switchboard where an agent asks again', async () => {
    await waitFor(
      async () => (await answer(first(), idOf(outside.question), 'Large')).status === 200,
      patient,
    );
    const { body } = await second().call('/api/agent/ask-human', outside);
    expect(body).toEqual({ success: true, answer: 'Large' });
  });

  it('are not asked again when the work goes on, with the answer that was kept', async () => {
    await waitFor(async () => (await flow(first()))?.status === 'complete', patient);
    const chats = model.chats().map(({ messages }) => JSON.stringify(messages));
    expect(chats.filter((words) => words.includes('Blue'))).toHaveLength(1);
    expect(chats.filter((words) => words.includes('Red'))).toEqual([]);
    const requests = await journalled(first(), 'agent.input.request.asking');
    expect(new Set(requests.map(({ payload }) => payload.requestId)).size).toBeLessThanOrEqual(1);
    for (const board of boards) await waitFor(async () => (await questions(board)).length === 0, patient);
  });

  it('are answered when it is back', async () => {
    dead = (await homes[0]?.start()) as ProcessSwitchboard;
    await waitFor(async () => (await questions(dead)).length === 0, patient);
    expect([409, 410]).toContain((await answer(dead, idOf('Which colour?'), 'Red')).status);
    expect((await dead.call('/api/agent/ask-human', outside)).body.answer).toBe('Large');
  });
});
