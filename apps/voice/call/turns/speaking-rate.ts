const remembered = 12;
const enough = 3;
const longestPauseMs = 2500;

/** How long this speaker pauses in mid-thought, learnt from the pauses after which they went on. */
export class SpeakingRate {
  readonly #pauses: number[] = [];

  /** A pause after which the same thought went on. */
  note(pauseMs: number): void {
    this.#pauses.push(Math.min(pauseMs, longestPauseMs));
    if (this.#pauses.length > remembered) this.#pauses.shift();
  }

  /** We took a pause for the end and were wrong: it counts as several. */
  noteFalseEndpoint(pauseMs: number): void {
    for (let times = 0; times < enough; times += 1) this.note(pauseMs);
  }

  /** Four of five of their pauses are no longer; 0 while too little is known. */
  get usualPauseMs(): number {
    if (this.#pauses.length < enough) return 0;
    const sorted = this.#pauses.toSorted((left, right) => left - right);
    return sorted[Math.floor((sorted.length - 1) * 0.8)] ?? 0;
  }
}
