export type CircuitState = 'closed' | 'open' | 'half-open';

export interface CircuitBreakerOptions {
  /** Failures in a row that open the circuit. Default: 5. */
  failureThreshold?: number;
  /** How long the circuit stays open before one trial call. Default: 30 seconds. */
  cooldownMs?: number;
  /** Each failure while it is not closed doubles the cooldown up to this. Default: `cooldownMs`, so that it never grows. */
  maxCooldownMs?: number;
  now?: () => number;
}

/**
 * Stops calls to something that keeps failing. After the cooldown the state is `half-open`: one call is let through, and
 * its result closes the circuit or opens it again.
 *
 * Callers check `state`, call `start` before the call and exactly one of `succeed`, `fail` and `release` after it.
 */
export class CircuitBreaker {
  readonly #threshold: number;
  readonly #cooldownMs: number;
  readonly #maxCooldownMs: number;
  readonly #now: () => number;
  #failures = 0;
  #nextCooldownMs: number;
  #openUntil = 0;
  #isTrying = false;

  constructor({
    failureThreshold = 5,
    cooldownMs = 30_000,
    maxCooldownMs,
    now = Date.now,
  }: CircuitBreakerOptions = {}) {
    this.#threshold = failureThreshold;
    this.#cooldownMs = cooldownMs;
    this.#maxCooldownMs = maxCooldownMs ?? cooldownMs;
    this.#now = now;
    this.#nextCooldownMs = cooldownMs;
  }

  get state(): CircuitState {
    if (this.#failures < this.#threshold) return 'closed';
    return this.#now() < this.#openUntil || this.#isTrying ? 'open' : 'half-open';
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds until a trial is allowed; 0 when one is allowed now or under way. */
  get retryAfterMs(): number {
    return this.#failures < this.#threshold ? 0 : Math.max(0, this.#openUntil - this.#now());
  }

  start(): void {
    if (this.state === 'half-open') this.#isTrying = true;
  }

  succeed(): void {
    this.#isTrying = false;
    this.#failures = 0;
    this.#nextCooldownMs = this.#cooldownMs;
  }

  fail(): void {
    this.#isTrying = false;
    this.#failures += 1;
    if (this.#failures < this.#threshold) return;
    this.#openUntil = this.#now() + this.#nextCooldownMs;
    this.#nextCooldownMs = Math.min(this.#nextCooldownMs * 2, this.#maxCooldownMs);
  }

  /** The call ended without saying anything about the other side, for example because its caller left. */
  release(): void {
    this.#isTrying = false;
  }
}
