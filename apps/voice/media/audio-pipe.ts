import type { Duplex } from 'node:stream';
import type { AudioFrame } from '../speech/audio/samples.ts';

/** Number of the peer, sample rate and number of samples, 32 bits each; then the samples, 16 bits each. */
const headerBytes = 12;
/** Frames that wait for one write. More do not wait: the library hands over all sound before anything else runs. */
const mostPending = 16;
/** Sound is dropped while this much waits for a process that does not read: 5 s of one call at 48 kHz. */
const mostWaiting = 480_000;

/** A frame has 10 ms. Whoever announces more than a second does not speak this format. */
const mostSamples = 192_000;

/**
 * Carries sound between the service and the process of its WebRTC connections. There are 200 frames a second in each call;
 * as messages between processes, those of 20 calls take 1.7 times the processor time and three times as long on their way.
 * Frames of one turn of the event loop share a write.
 */
export class AudioPipe {
  readonly #socket: Duplex;
  readonly #onFrame: (peer: number, frame: AudioFrame) => void;
  #pending: { peer: number; frame: AudioFrame }[] = [];
  /** The start of a frame whose end has not come. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Duplex, onFrame: (peer: number, frame: AudioFrame) => void) {
    this.#socket = socket;
    this.#onFrame = onFrame;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    // Whoever opened the socket ends the process when it closes.
    socket.on('error', () => socket.destroy());
  }

  send(peer: number, frame: AudioFrame): void {
    if (this.#socket.destroyed || this.#socket.writableLength > mostWaiting) return;
    this.#pending.push({ peer, frame });
    if (this.#pending.length === 1) setImmediate(() => this.#flush());
    if (this.#pending.length >= mostPending) this.#flush();
  }

  #flush(): void {
    const frames = this.#pending;
    if (frames.length === 0 || this.#socket.destroyed) return;
    this.#pending = [];
    const length = frames.reduce((sum, { frame }) => sum + headerBytes + frame.samples.byteLength, 0);
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for (const { peer, frame } of frames) {
      const { samples, sampleRate } = frame;
      bytes.writeUInt32LE(peer, at);
      bytes.writeUInt32LE(sampleRate, at + 4);
      bytes.writeUInt32LE(samples.length, at + 8);
      bytes.set(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength), at + headerBytes);
      at += headerBytes + samples.byteLength;
    }
    this.#socket.write(bytes);
  }

  #read(arrived: Buffer): void {
    const bytes = this.#rest.length === 0 ? arrived : Buffer.concat([this.#rest, arrived]);
    let at = 0;
    while (bytes.length - at >= headerBytes) {
      const count = bytes.readUInt32LE(at + 8);
      if (count > mostSamples) {
        this.#socket.destroy();
        return;
      }
      const from = at + headerBytes;
      const to = from + count * Int16Array.BYTES_PER_ELEMENT;
      if (bytes.length < to) break;
      // A copy: the library takes no view of a larger buffer.
      const samples = new Int16Array(count);
      new Uint8Array(samples.buffer).set(bytes.subarray(from, to));
      this.#onFrame(bytes.readUInt32LE(at), { samples, sampleRate: bytes.readUInt32LE(at + 4) });
      at = to;
    }
    this.#rest = bytes.subarray(at);
  }
}
