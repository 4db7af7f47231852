import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { openAccounts } from '@trunkline/accounts';
import { ACCESS_CHECK_MS } from '@trunkline/http';
import { startChild, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { dial } from './caller.suite.ts';
import { startLines, startLinesByHand } from './lines.suite.ts';

describe('a hang-up', () => {
  it('is noticed by the data channel', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    caller.hangUp();
    await waitFor(() => opened.ended);
    expect(opened.ended).toBe('the client hung up');
    const late = { pc_id: caller.id, candidates: [] };
    expect((await voice.patch('/api/offer', late)).status).toBe(404);
  });

  it.each(['none', 'client'] as const)('is noticed with a channel made by %s', async (channel) => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { channel });
    const opened = await line();
    if (channel === 'client') await caller.channel();
    caller.hangUp();
    await waitFor(() => opened.ended);
  });

  it('is noticed when the client is killed and says nothing any more', async () => {
    const { voice, line } = await startLines();
    const child = startChild(new URL('./fixtures/client.ts', import.meta.url), { arguments: [voice.url] });
    onTestFinished(() => void child.kill());
    await child.waitForLine('connected');
    const opened = await line();
    await child.kill();
    await waitFor(() => opened.ended);
    expect(opened.ended).toBe('nothing came any more');
  });

  it('is the end of a call whose caller has lost access, with words', async () => {
    const { voice, line, clock } = await startLinesByHand();
    const accounts = openAccounts({ home: voice.home, logger: { warn: () => undefined } });
    const { id } = accounts.create({ name: 'Ava', role: 'member' });
    const { key, keyId } = accounts.createKey(id, 'test');
    const caller = await dial(voice, { key });
    const opened = await line();
    await caller.channel();
    await clock.advanceBy(ACCESS_CHECK_MS);
    expect(opened.ended).toBeUndefined();
    accounts.revokeKey(keyId);
    accounts.close();
    await clock.advanceBy(ACCESS_CHECK_MS);
    expect(opened.ended).toBe('the caller lost access');
    await waitFor(() => caller.received.some((text) => String(text).includes('no longer valid here')));
  });

  it('is not seen in a microphone that sends nothing', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { tone: null });
    const opened = await line();
    await caller.channel();
    // Four pings, one a second, take longer than a line without a packet may last.
    await waitFor(() => caller.received.length >= 4);
    expect(opened.ended).toBeUndefined();
  });

  it('can be said over the data channel', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    await caller.tell({ label: 'rtvi-ai', type: 'disconnect-bot' });
    await waitFor(() => opened.ended);
    expect(opened.ended).toBe('the client said goodbye');
    expect(opened.told).toEqual([{ type: 'disconnect-bot' }]);
  });

  it('can be sent by a page that is being closed', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    const path = `/api/offer?pc_id=${encodeURIComponent(caller.id)}`;
    expect(await voice.delete(path)).toMatchObject({ status: 200, body: { status: 'success' } });
    expect(opened.ended).toBe('the client hung up');
    expect((await voice.delete(path)).status).toBe(404);
  });

  it('is told once, and ends what the line does', async () => {
    const { voice, line, lines } = await startLines();
    await dial(voice);
    const opened = await line();
    const reasons: string[] = [];
    opened.onClose((reason) => reasons.push(reason));
    opened.close('enough');
    opened.close('again');
    opened.send({ type: 'late' });
    opened.speaker.enqueue({ samples: new Int16Array(480), sampleRate: 48_000 });
    expect(reasons).toEqual(['enough']);
    const frames = opened.heard.length;
    await dial(voice);
    const next = await waitFor(() => lines[1]);
    await waitFor(() => next.heard.length > 20);
    expect(opened.heard.length).toBe(frames);
  });

  it('comes to every caller when the service stops', async () => {
    const { voice, lines } = await startLines();
    const callers = await Promise.all([dial(voice), dial(voice)]);
    await waitFor(() => lines.length === 2);
    await voice.stop();
    expect(lines.map(({ ended }) => ended)).toEqual(['the service stops', 'the service stops']);
    await Promise.all(callers.map((caller) => waitFor(() => caller.channels.every(isClosed))));
  });
});

describe('what a call used', () => {
  it('is free again: twelve calls, one after the other, over three ports', async () => {
    // Below what systems give out by themselves, and apart from another run of this test.
    const first = 20_000 + 3 * (process.pid % 1000);
    const range = [first, first + 1, first + 2];
    const { voice, lines } = await startLines({ env: { ICE_PORT_RANGE: `${first}-${first + 2}` } });
    for (let count = 1; count <= 12; count += 1) {
      const caller = await dial(voice);
      const ports = [...caller.answer.matchAll(/^a=candidate:\S+ 1 udp \d+ \S+ (\d+) /gm)].map(
        ([, port]) => port,
      );
      expect(ports.length).toBeGreaterThan(0);
      expect(ports.every((port) => range.includes(Number(port)))).toBe(true);
      const opened = await waitFor(() => lines[count - 1]);
      caller.hangUp();
      await waitFor(() => opened.ended);
    }
    await waitFor(async () => (await Promise.all(range.map(isFree))).every(Boolean));
  });

  it('leaves no timer behind', async () => {
    const { voice, clock, line } = await startLinesByHand();
    const before = clock.pendingTimers;
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    expect(clock.pendingTimers).toBeGreaterThan(before);
    opened.close('enough');
    expect(clock.pendingTimers).toBe(before);
  });

  it('is counted while it lasts, by health and metrics', async () => {
    const voice = await startVoice({
      substitutes: {
        converse: (line, { id: userId }) =>
          line.onClose(voice.voice.sessions.open({ id: line.id, userId, offer: () => undefined })),
      },
    });
    const callers = [await dial(voice), await dial(voice)];
    const counts = async () => ({
      metrics: (await voice.get('/api/metrics')).body.sessions_active,
      users: (await voice.get('/healthz')).body.active_sessions,
      prometheus: /^voice_sessions_active (\d+)/m.exec(String((await voice.get('/metrics')).body))?.[1],
    });
    await waitFor(async () => Number((await counts()).metrics) === 2);
    expect(await counts()).toEqual({ metrics: 2, users: 1, prometheus: '2' });
    for (const caller of callers) caller.hangUp();
    await waitFor(async () => Number((await counts()).metrics) === 0);
    expect(await counts()).toEqual({ metrics: 0, users: 0, prometheus: '0' });
    expect((await voice.get('/api/metrics')).body.sessions_total).toBe(2);
  });
});

function isClosed({ readyState }: RTCDataChannel): boolean {
  return readyState === 'closed';
}

async function isFree(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  const bound = once(socket, 'listening').then(() => true);
  const refused = once(socket, 'error').then(() => false);
  socket.bind(port, '127.0.0.1');
  const free = await Promise.race([bound, refused]);
  if (free) socket.close();
  return free;
}
