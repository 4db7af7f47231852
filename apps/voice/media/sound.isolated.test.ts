import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { dial } from './caller.suite.ts';
import { pitch, startLines, tone } from './lines.suite.ts';
import type { Peer, PeerMaker } from './peer.ts';
import { loadWrtcPeers } from './wrtc-peer.ts';

const near = (hertz: number, wanted: number) => Math.abs(hertz - wanted) < 15;

describe('a failure', () => {
  it('ends the call in which it happens, and no other', async () => {
    const { voice, lines } = await startLines();
    const callers = [await dial(voice), await dial(voice)];
    await waitFor(() => lines.length === 2);
    const [broken, whole] = callers.map(({ id }) => lines.find((line) => line.id === id));
    broken?.onAudio(() => {
      throw new Error('a defect');
    });
    await waitFor(() => broken?.ended);
    expect(broken?.ended).toBe('something went wrong');
    expect(voice.lines.at(-2)).toMatchObject({ level: 'error', fields: { call: broken?.id } });
    const before = whole?.heard.length ?? 0;
    await waitFor(() => (whole?.heard.length ?? 0) > before + 20);
    expect(whole?.ended).toBeUndefined();
  });
});

describe('sound', () => {
  it('comes in at 48 kHz over Opus [V009]', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { tone: 440 });
    const { heard } = await line();
    await waitFor(() => near(pitch(heard), 440));
    expect(heard.at(-1)).toMatchObject({ sampleRate: 48_000, samples: { length: 480 } });
    expect(caller.answer).toMatch(/^a=rtpmap:111 opus\/48000\/2/m);
  });

  it.each([16_000, 22_050, 24_000, 44_100, 48_000])('goes out from %i Hz [V009]', async (sampleRate) => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const { speaker } = await line();
    speaker.enqueue(tone(600, sampleRate, 0.6));
    await waitFor(() => speaker.queuedMs === 0);
    expect(speaker.playedMs).toBeGreaterThan(595);
    expect(speaker.playedMs).toBeLessThan(601);
    // As long as it takes: a busy machine gives so little time to short sound that it is heard with gaps.
    speaker.enqueue(tone(600, sampleRate, 60));
    await waitFor(() => near(pitch(caller.ear.frames), 600));
  });

  it('stops when it is cut off, and goes on when it was only paused', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const { speaker } = await line();
    speaker.enqueue(tone(600, 24_000, 60));
    await waitFor(() => near(pitch(caller.ear.frames), 600));
    speaker.pause();
    const heldAt = speaker.playedMs;
    await waitFor(() => pitch(caller.ear.frames) === 0);
    expect(speaker.playedMs).toBe(heldAt);
    speaker.resume();
    await waitFor(() => near(pitch(caller.ear.frames), 600));
    speaker.clear();
    expect(speaker.queuedMs).toBe(0);
    await waitFor(() => pitch(caller.ear.frames) === 0);
    speaker.enqueue(tone(300, 44_100, 60));
    await waitFor(() => near(pitch(caller.ear.frames), 300));
  });

  it('is counted when it goes out too late', async () => {
    const { voice, line } = await startLines();
    await dial(voice);
    const { speaker } = await line();
    speaker.enqueue(tone(600, 24_000, 20));
    await waitFor(() => speaker.playedMs > 200);
    const blockedUntil = performance.now() + 300;
    while (performance.now() < blockedUntil);
    await waitFor(async () => Number((await voice.get('/api/metrics')).body.audio_frames_late_total) > 10);
    const prometheus = String((await voice.get('/metrics')).body);
    expect(Number(/^voice_audio_frames_late_total (\d+)/m.exec(prometheus)?.[1])).toBeGreaterThan(10);
  });

  it('comes in again after a rest on a machine that was too busy', async () => {
    const wrtc = await loadWrtcPeers();
    const peers: Peer[] = [];
    const loadPeers = async (): Promise<PeerMaker> => (settings, events) => {
      const peer = wrtc(settings, events);
      peers.push(peer);
      return peer;
    };
    const { voice, line } = await startLines({ substitutes: { loadPeers } });
    await dial(voice);
    const { heard } = await line();
    await waitFor(() => near(pitch(heard), 440));
    for (const peer of peers) peer.rest();
    heard.length = 0;
    await waitFor(() => near(pitch(heard), 440));
  });

  it('keeps callers apart', async () => {
    const { voice, lines } = await startLines();
    const pitches = [300, 500, 700, 900];
    const callers = await Promise.all(pitches.map((hertz) => dial(voice, { tone: hertz })));
    await waitFor(() => lines.length === callers.length);
    await Promise.all(
      callers.map(async (caller, index) => {
        const line = await waitFor(() => lines.find(({ id }) => id === caller.id));
        await waitFor(() => near(pitch(line.heard), pitches[index] as number));
        line.send({ type: 'metrics', data: index });
        line.speaker.enqueue(tone(1000 + 200 * index, 24_000, 60));
        await waitFor(() => near(pitch(caller.ear.frames), 1000 + 200 * index));
        await waitFor(() => caller.messages().length > 0);
        expect(caller.messages()).toEqual([{ label: 'rtvi-ai', type: 'metrics', data: index }]);
      }),
    );
  });
});
