import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  startNatsServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

describe.skipIf(natsMissing !== undefined)('while NATS is away', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let board: TestSwitchboard | undefined;
  beforeEach(async () => {
    nats = await startNatsServer();
    model = await startModelServer({ script: ['Here.'] });
    board = undefined;
  });
  afterEach(async () => {
    await board?.stop();
    await nats.stop();
    await model.stop();
  });

  const start = async (env: Record<string, string> = {}) => {
    const access = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
    board = await startSwitchboard({ env: { NATS_URL: nats.url, ...access, ...env } });
    return board;
  };
  const isReady = (running: TestSwitchboard) => async () => (await running.fetch('/ready')).status === 200;
  const hello = {
    topic: 'message.inbound.cli',
    payload: { content: 'Hello' },
    id: 'hello',
    correlationId: 'hello',
  };

  it('starts, says what is wrong, refuses messages with a time to retry, and does its work when NATS comes', async () => {
    await nats.kill();
    const running = await start();
    const health = await running.call('/healthz');
    expect(health).toMatchObject({
      status: 200,
      body: {
        ok: false,
        bus: {
          engine: 'nats',
          connected: false,
          problem: expect.stringMatching(new RegExp(`127.0.0.1:${nats.port} cannot be reached`)),
        },
      },
    });
    const ready = await running.fetch('/ready');
    expect([ready.status, Number(ready.headers.get('retry-after'))]).toEqual([503, expect.any(Number)]);
    expect((await running.call('/api/cluster')).body.data).toMatchObject({
      connected: false,
      problem: expect.stringContaining('NATS_URL'),
    });
    const refused = await running.fetch('/publish', { method: 'POST', body: JSON.stringify(hello) });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // At once: what waited for NATS would be stored before anybody listens.
    expect((await refused.json()).error).toContain('takes no messages yet');
    await nats.start();
    await waitFor(isReady(running), { timeoutMs: 60_000 });
    const seen = await observe(running);
    expect((await running.call('/publish', hello)).status).toBe(200);
    expect((await seen.first('message.outbound.cli', 'hello')).payload.content).toBe('Here.');
    expect((await running.call('/healthz')).body).toMatchObject({ ok: true, bus: { connected: true } });
    seen.close();
  });

  it('stops while it waits', async () => {
    await nats.kill();
    const running = await start();
    board = undefined;
    await running.stop();
    await expect(running.fetch('/healthz')).rejects.toThrow();
  });

  it('says once what NATS lost while no switchboard ran', async () => {
    const home = temporaryDirectory();
    const startAgain = () => startSwitchboard({ env: { NATS_URL: nats.url }, home: home.path });
    const lost = async (running: TestSwitchboard): Promise<string[]> => {
      const { data } = (await running.call('/api/alerts')).body;
      return data
        .filter(({ severity }: Json) => severity === 'critical')
        .map(({ content }: Json) => content)
        .toSorted();
    };
    try {
      await (await startAgain()).stop();
      await nats.kill();
      rmSync(nats.store, { recursive: true });
      await nats.start();
      const running = await startAgain();
      const reported = await waitFor(async () => {
        const all = await lost(running);
        return all.some((content) => content.includes('bus-journal')) &&
          all.some((content) => content.includes('bus-dead'))
          ? all
          : undefined;
      });
      expect(reported.join()).toContain('Messages that were accepted before and not yet handled are lost');
      await running.stop();
      // Losses are reported in the order in which they are found: a second report of the journal would come before this.
      await nats.kill();
      rmSync(join(nats.store, 'jetstream', '$G', 'streams', 'bus-dead'), { recursive: true });
      await nats.start();
      const last = await startAgain();
      const reports = async (stream: string) =>
        (await lost(last)).filter((content) => content.includes(`The stream ${stream} `)).length;
      await waitFor(async () => (await reports('bus-dead')) === 2, { timeoutMs: 60_000 });
      expect(await reports('bus-journal')).toBe(1);
      await last.stop();
    } finally {
      home.remove();
    }
  });

  it('names NATS_REPLICAS where there are too few servers for it', async () => {
    const running = await start({ NATS_REPLICAS: '2' });
    const { ok, bus } = (await running.call('/healthz')).body;
    expect([ok, bus.problem]).toEqual([false, expect.stringContaining('NATS cannot keep 2 copies: ')]);
    expect(bus.problem).toContain('or lower NATS_REPLICAS. The server needs JetStream');
  });

  it('does not start with credentials that NATS refuses', async () => {
    await nats.stop();
    nats = await startNatsServer({ configuration: 'authorization { user: u, password: p }' });
    await expect(start({ NATS_USER: 'u', NATS_PASSWORD: 'wrong' })).rejects.toThrow(
      /refuses these credentials/,
    );
  });

  it('is not ready from the loss of NATS until it is back, and lives on', async () => {
    const other = await start();
    try {
      const running = await start({ NATS_PUBLISH_TIMEOUT_MS: '500' });
      for (const each of [other, running]) await waitFor(isReady(each), { timeoutMs: 60_000 });
      await nats.kill();
      await waitFor(async () => !(await isReady(running)()), { timeoutMs: 60_000 });
      expect((await running.call('/healthz')).status).toBe(200);
      const late = { ...hello, id: 'late-1', correlationId: 'late' };
      const refused = await running.fetch('/publish', { method: 'POST', body: JSON.stringify(late) });
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await refused.json()).error).toContain('with the same id, late-1');
      // A key that is revoked meanwhile ends at the other too, once it can be told.
      const keys = '# press is revoked\nkeys: []\n';
      running.write('keys.yaml', keys);
      await waitFor(() => running.log.some((line) => line.includes('failed to share an edited file')));
      await nats.start();
      await waitFor(isReady(running), { timeoutMs: 60_000 });
      for (const board of [running, other, running])
        await waitFor(async () => (await board.call('/publish', late)).status === 200, { timeoutMs: 60_000 });
      const { messages } = (await running.call('/api/bus/history?topic=message.inbound.cli')).body.data;
      expect(messages.filter(({ message }: Json) => message.id === 'late-1')).toHaveLength(1);
      const copy = join(other.workspace, 'keys.yaml');
      await waitFor(() => existsSync(copy) && readFileSync(copy, 'utf8') === keys, { timeoutMs: 60_000 });
    } finally {
      await other.stop();
    }
  });
});
