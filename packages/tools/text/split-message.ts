import { type Fence, fenceAfter } from './fence.ts';

/** What Discord takes. */
const LONGEST_MESSAGE = 2000;

/**
 * Cuts a message for a chat platform: at the ends of lines, and inside a line only when it alone is too long.
 * A block of code that goes on in the next part is closed at the end of one and opened again in the other.
 */
export function splitMessage(content: string, most = LONGEST_MESSAGE): string[] {
  const parts = new Parts(most);
  for (const line of content.split('\n')) parts.add(line);
  return parts.end();
}

class Parts {
  readonly #most: number;
  readonly #done: string[] = [];
  #lines: string[] = [];
  /** Of the lines, with their ends. */
  #length = 0;
  /** The block of code that is open behind the lines. */
  #fence: Fence | undefined;
  /** Nothing stands in it yet. */
  #isBare = false;

  constructor(most: number) {
    this.#most = most;
  }

  add(line: string): void {
    const fence = fenceAfter(this.#fence, line);
    for (const piece of cutLine(line, this.#room())) {
      if (this.#length + piece.length + closing(fence) > this.#most) this.#flush();
      if (this.#lines.length > 0 || piece !== '') this.#put(piece);
    }
    this.#isBare = fence !== undefined && this.#fence === undefined;
    this.#fence = fence;
  }

  end(): string[] {
    this.#done.push(this.#lines.join('\n'));
    return this.#done.filter((part) => part.trim() !== '');
  }

  #put(line: string): void {
    this.#lines.push(line);
    this.#length += line.length + 1;
    this.#isBare = false;
  }

  #flush(): void {
    if (this.#isBare && this.#lines.length === 1) return;
    this.#close();
    this.#lines = [];
    this.#length = 0;
    if (this.#fence === undefined) return;
    this.#put(this.#fence.opening);
    this.#isBare = true;
  }

  /** An opening with nothing behind it belongs to the next part alone. */
  #close(): void {
    const lines = this.#isBare ? this.#lines.slice(0, -1) : this.#lines;
    const end = this.#fence === undefined || this.#isBare ? [] : [this.#fence.mark];
    this.#done.push([...lines, ...end].join('\n'));
  }

  /** For one line in a part of its own. */
  #room(): number {
    const opening = this.#fence === undefined ? 0 : this.#fence.opening.length + 1;
    return Math.max(1, this.#most - opening - closing(this.#fence));
  }
}

function closing(fence: Fence | undefined): number {
  return fence === undefined ? 0 : fence.mark.length + 1;
}

/** Between signs as people see them: never through an emoji that is made of several. */
function cutLine(line: string, most: number): string[] {
  if (line.length <= most) return [line];
  const pieces: string[] = [];
  let piece = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    for (const sign of segment.length <= most ? [segment] : segment) {
      if (piece.length + sign.length > most) {
        pieces.push(piece);
        piece = '';
      }
      piece += sign;
    }
  }
  return [...pieces, piece];
}
