import { randomUUID } from 'node:crypto';
import {
  type NatsCluster,
  type NatsServer,
  natsMissing,
  startNatsCluster,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const patient = { timeoutMs: 120_000, intervalMs: 200 };
const topic = 'command.proof';

/** Of the journal, and by name: the leader, then the others. */
type Choice = (servers: [string, string, string]) => string[];

const kill = {
  end: (server: NatsServer) => server.kill('SIGKILL'),
  bringBack: (server: NatsServer) => server.start(),
};
const pause = {
  end: async (server: NatsServer) => void process.kill(server.pid, 'SIGSTOP'),
  bringBack: async (server: NatsServer) => void process.kill(server.pid, 'SIGCONT'),
};

describe.skipIf(natsMissing !== undefined)('two of three NATS servers are away', () => {
  let cluster: NatsCluster;
  let boards: TestSwitchboard[];
  beforeAll(async () => {
    cluster = await startNatsCluster();
    // Longer than an answer of /ready is used again: whoever was refused asks anew.
    const env = { NATS_URL: cluster.url, NATS_PUBLISH_TIMEOUT_MS: '1500' };
    boards = await Promise.all([startSwitchboard({ env }), startSwitchboard({ env })]);
  });
  afterAll(async () => {
    await Promise.all((boards ?? []).map((board) => board.stop()));
    await cluster?.stop();
  });

  const allReady = () =>
    waitFor(async () => {
      const answers = await Promise.all(boards.map((board) => board.fetch('/ready')));
      return answers.every(({ status }) => status === 200);
    }, patient);
  const publish = (index: number, id: string) =>
    (boards[index] as TestSwitchboard).fetch('/publish', {
      method: 'POST',
      body: JSON.stringify({ topic, id, payload: {} }),
    });
  const expectRefused = ({ status, headers }: Response) =>
    expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true]);
  const journalLeader = async (name: string): Promise<string | undefined> => {
    const answer = await fetch(`${cluster.servers[name]?.monitor}/jsz?accounts=true&streams=true`);
    const { account_details: accounts = [] } = (await answer.json()) as Json;
    const streams: Json[] = accounts.flatMap((account: Json) => account.stream_detail ?? []);
    const journal = streams.find((stream) => stream.name === 'bus-journal');
    if (journal === undefined) throw new Error(`${name} has no copy of the journal yet.`);
    return journal.cluster.leader || undefined;
  };
  const connections = async (name: string): Promise<number> => {
    const answer = await fetch(`${cluster.servers[name]?.monitor}/connz`);
    return ((await answer.json()) as Json).num_connections;
  };

  const cases: [string, Choice, typeof kill][] = [
    ['the leader of the journal and another are killed', ([leader, first]) => [leader, first], kill],
    ['all but the leader of the journal are killed', ([, first, second]) => [first, second], kill],
    ['the leader of the journal and another stand still', ([leader, first]) => [leader, first], pause],
  ];
  it.each(cases)(
    '%s: both switchboards say so, live on and refuse, and nothing is doubled afterwards',
    async (_, choose, { end, bringBack }) => {
      await allReady();
      const names = Object.keys(cluster.servers);
      const leader = await waitFor(() => journalLeader('n1'), patient);
      const others = names.filter((name) => name !== leader) as [string, string];
      const away = choose([leader, ...others]);
      const [left = ''] = names.filter((name) => !away.includes(name));
      const servers = away.map((name) => cluster.servers[name] as NatsServer);
      const ids: string[] = boards.map(() => randomUUID());
      await Promise.all(servers.map(end));
      try {
        // The copy that is left has no leader and answers questions nevertheless; both switchboards can ask it.
        await waitFor(async () => (await journalLeader(left)) === undefined, patient);
        await waitFor(async () => (await connections(left)) >= boards.length, patient);
        for (const [index, id] of ids.entries()) expectRefused(await publish(index, id));
        for (const board of boards) {
          expectRefused(await board.fetch('/ready'));
          expect(await board.call('/healthz')).toMatchObject({
            status: 200,
            body: { ok: false, bus: { problem: expect.stringContaining('stores nothing now') } },
          });
        }
      } finally {
        await Promise.all(servers.map(bringBack));
      }
      await allReady();
      // A careful client tries the other switchboard.
      for (const [index, id] of ids.entries())
        await waitFor(async () => (await publish(1 - index, id)).status === 200, patient);
      const stored = await waitFor(async () => {
        const { status, body } = await (boards[0] as TestSwitchboard).call(
          `/api/bus/history?topic=${topic}&limit=1000`,
        );
        return status === 200 && body.data.messages.map(({ message }: Json) => message.id);
      }, patient);
      expect(stored.filter((id: string) => ids.includes(id)).toSorted()).toEqual(ids.toSorted());
    },
    600_000,
  );
});
