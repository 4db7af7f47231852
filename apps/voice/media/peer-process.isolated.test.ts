import { execFileSync, spawn } from 'node:child_process';
import type { Logger } from '@trunkline/config';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TestVoice } from '../voice.suite.ts';
import { dial } from './caller.suite.ts';
import { startLines } from './lines.suite.ts';
import type { PeerEvents, PeerSettings } from './peer.ts';
import { loadProcessPeers } from './peer-process.ts';

describe('a crash of the WebRTC library', () => {
  it('ends the calls it carried, and neither the service nor the calls that come next', async () => {
    const { voice, lines, line } = await startLines();
    await dial(voice);
    const first = await line();
    process.kill(hostProcess(), 'SIGSEGV');
    await waitFor(() => first.ended);
    expect(first.ended).toBe('the connection was lost');
    await waitFor(() =>
      voice.lines.some(({ message }) => message === 'WebRTC process ended; its calls are lost'),
    );
    expect((await voice.get('/healthz')).status).toBe(200);
    await dial(voice);
    const second = await waitFor(() => lines[1]);
    await waitFor(() => second.heard.length > 20);
    expect(second.ended).toBeUndefined();
  });
});

describe('the process of the WebRTC library', () => {
  it('sends messages again after a channel was full and has drained', async () => {
    const { voice, line, warnings } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    const data = 'x'.repeat(32 * 1024);
    const isFull = () => warnings().includes('data channel buffer is full; message dropped');
    await waitFor(() => {
      for (let count = 0; count < 16; count += 1) opened.send({ type: 'fill', data });
      return isFull();
    });
    await waitFor(() => {
      opened.send({ type: 'after' });
      return caller.messages().some(({ type }) => type === 'after');
    });
  });

  it('keeps no messages without end for a process that does not read', async () => {
    const { voice, line, warnings } = await startLines();
    await (await dial(voice)).channel();
    const opened = await line();
    const host = hostProcess();
    process.kill(host, 'SIGSTOP');
    const data = 'x'.repeat(32 * 1024);
    for (let count = 0; count < 100; count += 1) opened.send({ type: 'fill', data });
    process.kill(host, 'SIGCONT');
    expect(warnings()).toContain('data channel buffer is full; message dropped');
  });

  it('gives up a caller who sends faster than the service reads', async () => {
    const { voice, line } = await startLines();
    startFlood(voice.url);
    const opened = await line();
    await waitFor(
      () => {
        // The service reads nothing while this thread waits.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
        return opened.ended;
      },
      { intervalMs: 500 },
    );
    expect(opened.ended).toBe('the connection was lost');
    expect(reasons(voice)).toContain('the caller sent more messages than were read');
  });

  it('gives up a caller who sends without an end, however fast the service reads', async () => {
    const { voice, lines, line } = await startLines();
    await dial(voice);
    const other = await line();
    startFlood(voice.url);
    const flooding = await waitFor(() => lines[1]);
    await waitFor(() => flooding.ended);
    expect(flooding.ended).toBe('the connection was lost');
    expect(reasons(voice)).toContain('the caller sent more messages than were read');
    const heard = other.heard.length;
    await waitFor(() => other.heard.length > heard + 20);
    expect(other.ended).toBeUndefined();
  });

  it('gives up a caller who opens channels without an end', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const opened = await line();
    await caller.channel();
    for (let count = 0; count < 40; count += 1) caller.connection.createDataChannel(`channel ${count}`);
    await waitFor(() => opened.ended);
    expect(reasons(voice)).toContain('the caller opens more channels than a call has');
  });

  it('is replaced when it hangs', async () => {
    const { makePeer } = await startPeers();
    const hanging = hostProcess();
    const peer = makePeer(settings, ignoredEvents);
    process.kill(hanging, 'SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const later = performance.now() + 30_000;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later);
    onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
    const refused = expect(peer.answer('v=0')).rejects.toMatchObject({ code: 'webrtc_ended' });
    await vi.advanceTimersByTimeAsync(30_000);
    await refused;
    vi.useRealTimers();
    clock.mockRestore();
    expect(peer.state).toBe('lost');
    await expect(makePeer(settings, ignoredEvents).answer('v=0')).rejects.toMatchObject({
      code: 'webrtc_ended',
    });
    const next = await nextPeer();
    await expect(next.answer('v=0')).rejects.toMatchObject({ code: 'bad_offer' });
    expect(hostProcess()).not.toBe(hanging);
  });

  it('is replaced when its pipe of sound closes', async () => {
    const { makePeer } = await startPeers();
    const mute = hostProcess();
    const peer = makePeer(settings, ignoredEvents);
    // More than a frame may have, at which the process closes the pipe.
    peer.play({ samples: new Int16Array(200_000), sampleRate: 48_000 });
    await waitFor(() => peer.state === 'lost');
    const next = await nextPeer();
    await expect(next.answer('v=0')).rejects.toMatchObject({ code: 'bad_offer' });
    expect(hostProcess()).not.toBe(mute);
  });

  it('refuses the caller, and no more, where no file descriptor is left to start it', () => {
    const script = `
      const { openSync } = await import('node:fs');
      const { loadProcessPeers } = await import(${JSON.stringify(new URL('./peer-process.ts', import.meta.url).href)});
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      const refused = await loadProcessPeers({ error() {} }).then(() => 'no error', ({ code }) => code);
      setImmediate(() => process.stdout.write(refused));`;
    const limited = ['-c', 'ulimit -n 200; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e'];
    expect(execFileSync('sh', [...limited, script], { encoding: 'utf8' })).toBe('webrtc_missing');
  });

  it('answers and logs the reason where a connection cannot be created', async () => {
    const { makePeer, errors } = await startPeers();
    const peer = makePeer({ ...settings, iceServers: [{ urls: 'nonsense:1' }] }, ignoredEvents);
    await expect(peer.answer('v=0')).rejects.toThrow(/^WebRTC connection failed: .*ICE/i);
    const reason = expect.stringMatching(/ICE/i);
    expect(errors).toHaveBeenCalledWith({ reason }, 'WebRTC connection failed');
  });
});

const reasons = ({ lines }: TestVoice) => lines.map(({ fields }) => fields.reason);

/** A caller who sends all the time; a process of its own, as the library may crash when it sends on a channel that closes. */
function startFlood(url: string): void {
  const script = `
    const { loadWrtc } = await import(${JSON.stringify(new URL('./wrtc-peer.ts', import.meta.url).href)});
    const { RTCPeerConnection } = await loadWrtc();
    const connection = new RTCPeerConnection();
    connection.addTransceiver('audio', { direction: 'sendrecv' });
    const channel = connection.createDataChannel('flood');
    await connection.setLocalDescription(await connection.createOffer());
    while (connection.iceGatheringState !== 'complete') await new Promise((resolve) => setTimeout(resolve, 20));
    const response = await fetch(${JSON.stringify(`${url}/api/offer`)}, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sdp: connection.localDescription.sdp, type: 'offer' }),
    });
    await connection.setRemoteDescription({ type: 'answer', sdp: (await response.json()).sdp });
    const text = 'x'.repeat(2000);
    setInterval(() => {
      const isFree = channel.readyState === 'open' && channel.bufferedAmount < 4_000_000;
      for (let count = 0; isFree && count < 1000; count += 1) channel.send(text);
    }, 100);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
}

async function startPeers() {
  const errors = vi.fn();
  const logger = { error: errors } as Partial<Logger> as Logger;
  return { makePeer: await loadProcessPeers(logger), errors };
}

/** A connection of the process that replaces one that has ended. */
function nextPeer() {
  return waitFor(async () => {
    const fresh = (await startPeers()).makePeer(settings, ignoredEvents);
    return fresh.state === 'connecting' ? fresh : undefined;
  });
}

const settings: PeerSettings = { iceServers: [], portRange: undefined };
const ignore = () => undefined;
const ignoredEvents: PeerEvents = {
  stateChanged: ignore,
  audio: ignore,
  channelOpened: ignore,
  channelClosed: ignore,
  message: ignore,
};

/** The process that holds the connections of this one. */
function hostProcess(): number {
  const rows = execFileSync('ps', ['-A', '-o', 'ppid=,pid=,args='], { encoding: 'utf8' });
  const own = rows.split('\n').map((row) => /^\s*(\d+)\s+(\d+) .*peer-host/.exec(row));
  const [, , pid] = own.find((match) => match?.[1] === String(process.pid)) ?? [];
  return Number(pid);
}
