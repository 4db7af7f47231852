import { setTimeout as delay } from 'node:timers/promises';
import {
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createPublisher,
  doubled,
  isReady,
  journalOf,
  journalOfTopic,
  leadingBoard,
  leads,
  type Pair,
  startPair,
} from '../fixtures/nats-faults.ts';
import type { ProcessSwitchboard } from '../fixtures/process-switchboard.ts';

const patient = { timeoutMs: 90_000, intervalMs: 100 };
const helm = 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n';
const count = 6 * 250;
const schedules = 40;

/** Real nodes and real processes. */
describe.skipIf(natsMissing !== undefined)('two switchboards on a NATS cluster of three', () => {
  let model: ModelServer;
  let pair: Pair;

  beforeAll(async () => {
    model = await startModelServer({ script: () => 'Done.' });
    pair = await startPair(
      { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
      { 'agents/helm.yaml': helm },
    );
  }, 120_000);
  afterAll(async () => {
    await pair?.stop();
    await model?.stop();
  });

  const allReady = () =>
    waitFor(async () => (await Promise.all(pair.boards.map(isReady))).every(Boolean), patient);

  it('lose nothing and double nothing while nodes and switchboards are killed and paused', async () => {
    // Due all through the faults.
    const first = Date.now() + 15_000;
    const runs = Array.from({ length: schedules }, (_, index) => ({
      id: `run-${index}`,
      schedule: new Date(first + index * 1000).toISOString(),
      topic: `cron.run-${index}`,
      payload: { content: `Run ${index}` },
    }));
    const added = await Promise.all(
      runs.map((run, index) => (pair.boards[index % 2] as ProcessSwitchboard).call('/api/schedules', run)),
    );
    expect(added.map(({ status }) => status)).toEqual(runs.map(() => 201));
    const publisher = createPublisher(pair);
    const faults = [killFollower, killLeader, killTwo, killSwitchboard, pauseLeader, pauseSwitchboard];
    try {
      for (const fault of faults) {
        await allReady();
        await publisher.send(count / faults.length, fault);
      }
    } finally {
      publisher.stop();
    }
    await allReady();
    const [board] = pair.boards as [ProcessSwitchboard];
    // The copies of three servers may differ in the order of what was stored around a fault, and each page comes from any of
    // them: what is read twice or left out between two pages is read again. What is really lost or doubled stays so.
    const whole = async (topic: string, expected: number) => {
      let found = await journalOfTopic(board, topic);
      const repeats: number[] = [];
      const isWhole = () => found.length === expected && new Set(found.map(({ id }) => id)).size === expected;
      for (const until = Date.now() + 180_000; !isWhole() && Date.now() < until; await delay(1000)) {
        found = await journalOfTopic(board, topic);
        repeats.push(doubled(found).length);
      }
      // Answers may still come at first; what a reading holds twice is another thing, and is told.
      if (repeats.some(Boolean)) console.info(`readings of ${topic} held doubled messages: ${repeats}`);
      return found;
    };
    const answers = await whole('message.outbound.cli', count + schedules);
    const ids = (messages: { id: string }[]) => messages.map(({ id }) => id).toSorted();
    const numbered = Array.from({ length: count }, (_, number) => `message-${number}`);
    expect(ids(await whole('message.inbound.cli', count))).toEqual(numbered.toSorted());
    expect(ids(await whole('cron.#', schedules))).toEqual(
      runs.map(({ id, schedule }) => `${id}@${schedule}`).toSorted(),
    );
    expect(doubled(answers)).toEqual([]);
    const answered = new Set(answers.map(({ correlationId }) => correlationId));
    expect(numbered.filter((id) => !answered.has(id))).toEqual([]);
    expect(answers).toHaveLength(count + schedules);
    const letters = await Promise.all(pair.boards.map((each) => each.call('/api/dead-letters')));
    expect(letters.map(({ body }) => body.data.count)).toEqual([0, 0]);
    // Work that a killed or paused switchboard had begun starts again elsewhere, and is answered once.
    console.info(
      `the longest wait of a sender was ${Math.round(publisher.longestMs())} ms; ${model.chats().length} model calls`,
    );
  }, 400_000);

  async function killFollower(): Promise<void> {
    const [follower] = (await journalOf(pair)).followers;
    await follower?.kill('SIGKILL');
    await follower?.start();
  }

  async function killLeader(): Promise<void> {
    const { leader } = await journalOf(pair);
    await leader.kill('SIGKILL');
    await waitFor(async () => (await journalOf(pair)).leader !== leader, patient);
    await leader.start();
  }

  /** Nothing can be stored, and both say so. */
  async function killTwo(): Promise<void> {
    const { leader, followers } = await journalOf(pair);
    const lost = [leader, followers[0] as NatsServer];
    await Promise.all(lost.map((server) => server.kill('SIGKILL')));
    await waitFor(async () => !(await Promise.all(pair.boards.map(isReady))).some(Boolean), patient);
    await Promise.all(lost.map((server) => server.start()));
  }

  /** The one that runs the schedules. */
  async function killSwitchboard(): Promise<void> {
    const index = await leadingBoard(pair);
    await pair.boards[index]?.child.kill('SIGKILL');
    pair.boards[index] = (await pair.homes[index]?.start()) as ProcessSwitchboard;
  }

  async function pauseLeader(): Promise<void> {
    const { leader } = await journalOf(pair);
    process.kill(leader.pid, 'SIGSTOP');
    await waitFor(async () => (await journalOf(pair)).leader !== leader, patient).finally(() =>
      process.kill(leader.pid, 'SIGCONT'),
    );
  }

  async function pauseSwitchboard(): Promise<void> {
    const index = await leadingBoard(pair);
    const { pid } = (pair.boards[index] as ProcessSwitchboard).child;
    process.kill(pid, 'SIGSTOP');
    await waitFor(() => leads(pair, 1 - index), patient).finally(() => process.kill(pid, 'SIGCONT'));
  }
});
