const dot = 46;
const seed = 7;

/**
 * Where the segments of a topic end, with a hash of each, found in one pass over its characters.
 * One scan is used for topic after topic: cutting out and hashing strings costs three times as much.
 */
export class SegmentScan {
  count = 0;
  #topic = '';
  #ends = new Int32Array(64);
  #hashes = new Int32Array(64);

  read(topic: string): void {
    if (topic.length >= this.#ends.length) this.#grow(topic.length + 1);
    let count = 0;
    let hash = seed;
    for (let index = 0; index < topic.length; index += 1) {
      const code = topic.charCodeAt(index);
      if (code !== dot) hash = mixed(hash, code);
      else {
        this.#ends[count] = index;
        this.#hashes[count] = hash;
        count += 1;
        hash = seed;
      }
    }
    this.#ends[count] = topic.length;
    this.#hashes[count] = hash;
    this.count = count + 1;
    this.#topic = topic;
  }

  hash(depth: number): number {
    return this.#hashes[depth] ?? seed;
  }

  /** Whether the segment at this depth is exactly the text. */
  equals(depth: number, text: string): boolean {
    const start = depth === 0 ? 0 : (this.#ends[depth - 1] ?? 0) + 1;
    return (this.#ends[depth] ?? 0) - start === text.length && this.#topic.startsWith(text, start);
  }

  #grow(length: number): void {
    this.#ends = new Int32Array(length);
    this.#hashes = new Int32Array(length);
  }
}

/** The hash that a scan gives for this segment. */
export function segmentHash(segment: string): number {
  let hash = seed;
  for (let index = 0; index < segment.length; index += 1) hash = mixed(hash, segment.charCodeAt(index));
  return hash;
}

function mixed(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}
