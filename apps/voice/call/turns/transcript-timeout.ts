import type { Clock } from '@trunkline/schedule';

/** A recogniser that is silent for longer is not waited for. */
const recognitionLimitMs = 8000;
/** Sound that goes on for this long without a word is no speech. */
const wordlessLimitMs = 15_000;

export interface TranscriptTimeoutDeps {
  clock: Clock;
  /** The models that listen are not there yet: words come later. */
  isLoading(): boolean;
}

/**
 * How long the words of an utterance are waited for. Time in which models load does not count, however much is said
 * meanwhile and listened to at once afterwards.
 */
export class TranscriptTimeout {
  readonly #deps: TranscriptTimeoutDeps;
  /** Since when words could have come, and since when nothing was added to what was said. */
  #listeningSince: number | undefined;
  #waitingSince = 0;

  constructor(deps: TranscriptTimeoutDeps) {
    this.#deps = deps;
  }

  /** A moment of the utterance has passed. */
  pass(speaking: boolean): void {
    const { clock, isLoading } = this.#deps;
    if (isLoading()) this.#listeningSince = undefined;
    if (isLoading() || speaking) this.#waitingSince = clock.now();
    this.#listeningSince ??= clock.now();
  }

  /** The next utterance begins. */
  renew(): void {
    this.#listeningSince = undefined;
  }

  /** So much speech has given no word that it is none. */
  isWordless(speechMs: number): boolean {
    const listenedMs = this.#deps.clock.now() - (this.#listeningSince ?? Infinity);
    return Math.min(speechMs, listenedMs) > wordlessLimitMs;
  }

  /** Nothing came of what was said. */
  get isOver(): boolean {
    return this.#deps.clock.now() - this.#waitingSince >= recognitionLimitMs;
  }
}
