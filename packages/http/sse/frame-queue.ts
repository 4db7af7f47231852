export interface QueueLimits {
  frames: number;
  bytes: number;
}

export type Chunk = string | Uint8Array;

/** Frames that wait for a slow reader; never holds more than its limits allow. */
export class FrameQueue {
  readonly #limits: QueueLimits;
  #frames: Chunk[] = [];
  #head = 0;
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#frames.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  fits(chunk: Chunk): boolean {
    return this.length < this.#limits.frames && this.#bytes + chunk.length <= this.#limits.bytes;
  }

  /** Adds the newest frame and gives back how many were lost to make room: the oldest, or a frame larger than the queue. */
  push(chunk: Chunk): number {
    if (chunk.length > this.#limits.bytes) return 1;
    let dropped = 0;
    while (!this.fits(chunk)) {
      this.shift();
      dropped += 1;
    }
    this.#frames.push(chunk);
    this.#bytes += chunk.length;
    return dropped;
  }

  shift(): Chunk | undefined {
    const chunk = this.#frames[this.#head];
    if (chunk === undefined) return undefined;
    this.#head += 1;
    this.#bytes -= chunk.length;
    if (this.#head * 2 > this.#frames.length) this.#compact();
    return chunk;
  }

  /** Gives back the room of frames already taken, seldom enough to stay cheap. */
  #compact(): void {
    this.#frames = this.#frames.slice(this.#head);
    this.#head = 0;
  }
}
