import { CircuitBreaker } from '@trunkline/std';

/** How much the newest measurement counts. */
const newest = 0.3;
/** Reading speed, for sound that is not there yet. */
const charactersPerSecond = 14;
/** After it fell behind, a voice speaks to nobody who can have another: changing back and forth is worse than the plainer voice. */
const rest = { failureThreshold: 1, cooldownMs: 30_000, maxCooldownMs: 300_000 };

export interface VoicePaceOptions {
  /** Pieces that are synthesized at the same time. */
  threads(): number;
  now?: () => number;
}

/** Measures how fast a local voice is, and tells whether it keeps up with all callers who listen to it now. */
export class VoicePace {
  readonly #options: VoicePaceOptions;
  readonly #callers = new Map<unknown, number>();
  readonly #behind: CircuitBreaker;
  /** Seconds of work for a second of speech. */
  #realTimeFactor: number | undefined;

  constructor(options: VoicePaceOptions) {
    this.#options = options;
    this.#behind = new CircuitBreaker({ ...rest, now: options.now ?? (() => performance.now()) });
  }

  /** A caller begins to listen. Gives the way to end that. */
  open(caller: string | undefined): () => void {
    const key = caller ?? Symbol('caller');
    this.#callers.set(key, (this.#callers.get(key) ?? 0) + 1);
    return () => {
      const streams = (this.#callers.get(key) ?? 1) - 1;
      if (streams === 0) this.#callers.delete(key);
      else this.#callers.set(key, streams);
    };
  }

  /** Notes the work of a piece. */
  note(workMs: number, seconds: number): void {
    if (seconds <= 0) return;
    const factor = workMs / 1000 / seconds;
    this.#realTimeFactor =
      this.#realTimeFactor === undefined ? factor : this.#realTimeFactor * (1 - newest) + factor * newest;
  }

  /** Several callers share a thread. */
  get isShared(): boolean {
    return this.#callers.size > this.#options.threads();
  }

  /** Seconds that each caller waits for a second of speech. */
  get factor(): number {
    const share = this.#callers.size / Math.max(1, this.#options.threads());
    return (this.#realTimeFactor ?? 0) * Math.max(1, share);
  }

  /** It cannot keep up with its callers, or could not a short while ago. */
  isBehind(): boolean {
    if (this.#behind.state === 'open') return true;
    if (!this.isShared || this.factor <= 1) return false;
    this.#behind.fail();
    return true;
  }

  /** Somebody was spoken to without falling behind. */
  keptUp(): void {
    if (this.#behind.state === 'half-open') this.#behind.succeed();
  }

  /**
   * Whether speech that starts with so many seconds has no hole before its end: each of the texts that follow comes
   * before what precedes it was heard.
   */
  isFluent(seconds: number, following: readonly string[]): boolean {
    if (!this.isShared) return true;
    let [ready, needed] = [seconds, 0];
    for (const text of following) {
      const length = text.length / charactersPerSecond;
      needed += this.factor * length;
      if (needed > ready) return false;
      ready += length;
    }
    return true;
  }
}
