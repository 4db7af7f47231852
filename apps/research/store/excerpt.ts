/** A part of a text, and the place where it begins there. */
export interface Part {
  /** Its number among the parts, from 0. */
  place: number;
  start: number;
  text: string;
}

const GAP = '\n\n';

/** Parts of a text put together in their order, which knows where each of its places stands in the whole. */
export class Excerpt {
  readonly text: string;
  readonly #offsets: { from: number; shift: number }[] = [];

  constructor(parts: readonly Part[]) {
    const pieces: string[] = [];
    let [length, last] = [0, -1];
    for (const { place, start, text } of parts) {
      const gap = last === -1 || place === last + 1 ? '' : GAP;
      this.#offsets.push({ from: length + gap.length, shift: start - length - gap.length });
      pieces.push(gap, text);
      length += gap.length + text.length;
      last = place;
    }
    this.text = pieces.join('');
  }

  /** Where the character at this place of the excerpt stands in the whole text. */
  placeInWhole(at: number): number {
    return at + (this.#offsets.findLast(({ from }) => from <= at)?.shift ?? 0);
  }
}
