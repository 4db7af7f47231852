import { Duplex, duplexPair } from 'node:stream';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { AudioPipe } from './audio-pipe.ts';

const ignore = () => undefined;

describe('the pipe of sound', () => {
  it('delivers the frames of many peers as they were sent, in their order', async () => {
    const [near, far] = duplexPair();
    const heard: [number, AudioFrame][] = [];
    new AudioPipe(far, (peer, frame) => heard.push([peer, frame]));
    const pipe = new AudioPipe(near, ignore);
    const sent = Array.from(
      { length: 50 },
      (_, index) => [index % 3, frameOf(index)] as [number, AudioFrame],
    );
    for (const [peer, frame] of sent) pipe.send(peer, frame);
    await waitFor(() => heard.length === sent.length);
    expect(heard).toEqual(sent);
  });

  it('puts frames together that come in pieces', async () => {
    const [near, far] = duplexPair();
    const bytes: number[] = [];
    far.on('data', (chunk: Buffer) => bytes.push(...chunk));
    const pipe = new AudioPipe(near, ignore);
    for (let index = 0; index < 3; index += 1) pipe.send(7, frameOf(index));
    await waitFor(() => bytes.length === 3 * (12 + 2 * 480));
    const [writer, reader] = duplexPair();
    const heard: AudioFrame[] = [];
    new AudioPipe(reader, (_peer, frame) => heard.push(frame));
    for (const byte of bytes) writer.write(Buffer.of(byte));
    await waitFor(() => heard.length === 3);
    expect(heard).toEqual([frameOf(0), frameOf(1), frameOf(2)]);
  });

  it('drops sound that nobody reads', () => {
    const unread = new Duplex({ read: ignore, write: ignore });
    const pipe = new AudioPipe(unread, ignore);
    for (let index = 0; index < 5000; index += 1) pipe.send(1, frameOf(index));
    expect(unread.writableLength).toBeGreaterThan(100_000);
    expect(unread.writableLength).toBeLessThan(1_000_000);
  });

  it('closes when the other side sends something else', async () => {
    const [writer, reader] = duplexPair();
    new AudioPipe(reader, ignore);
    writer.write(Buffer.alloc(64, 0xff));
    await waitFor(() => reader.destroyed);
    expect(reader.destroyed).toBe(true);
  });
});

function frameOf(start: number): AudioFrame {
  return { samples: Int16Array.from({ length: 480 }, (_, index) => start * 100 + index), sampleRate: 48_000 };
}
