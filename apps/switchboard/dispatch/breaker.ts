export type CircuitState = 'closed' | 'open' | 'half-open';

const mostFailures = 5;
const pauseMs = 30_000;

/** Leaves an executor alone that failed several times in a row, then tries it once before all come back. */
export class Breaker {
  readonly #now: () => number;
  #failures = 0;
  #openUntil = 0;
  #trying = false;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  get state(): CircuitState {
    if (this.#failures < mostFailures) return 'closed';
    return this.#now() < this.#openUntil || this.#trying ? 'open' : 'half-open';
  }

  /** Words when it must not be called now. */
  refusal(): string | undefined {
    if (this.state !== 'open') return undefined;
    const seconds = Math.max(1, Math.ceil((this.#openUntil - this.#now()) / 1000));
    return `failed ${this.#failures} times in a row and is left alone for ${seconds} s`;
  }

  /** Must be called before each call that was not refused. */
  begin(): void {
    if (this.state === 'half-open') this.#trying = true;
  }

  end(failed: boolean): void {
    this.#trying = false;
    this.#failures = failed ? this.#failures + 1 : 0;
    if (this.#failures >= mostFailures) this.#openUntil = this.#now() + pauseMs;
  }

  /** The call came to nothing that tells anything, as its caller went away. */
  forget(): void {
    this.#trying = false;
  }
}
