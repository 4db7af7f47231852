import { availableParallelism } from 'node:os';
import { mediaErrors } from './peer.ts';

export interface LineCapacityOptions {
  maxCalls: number;
  /** Share of the processor that the speech of all calls may take; 0: no limit. */
  maxLoad: number;
  cores?: number;
  /** Milliseconds that only go forward. */
  now?(): number;
}

/** The state of a caller who waits for a line. */
export interface LinePlace {
  /** A line is kept for the caller. */
  free: boolean;
  /** Callers who wait before this one. */
  ahead: number;
  /** Why there is no line; for people. */
  reason: string;
}

/** What happened this long ago counts a third. */
const memoryMs = 60_000;
/** With less than this of calls in memory, the load of a call is not known. */
const fewestCallMs = 30_000;
/** A waiting page asks every few seconds; one that does not is gone. */
const goneAfterMs = 20_000;
const mostWaiting = 100;

/**
 * How many calls this machine serves well: measured by the work of the speech models per call, as people really talk.
 * A caller beyond that may wait, and comes before those who call later.
 */
export class LineCapacity {
  readonly #options: Required<LineCapacityOptions>;
  /** Tickets of waiting callers in order, with the time of their last question. */
  readonly #waiting = new Map<string, number>();
  #calls = 0;
  #advancedAt: number;
  /** Time of work and time of calls; what is older counts less. */
  #workMs = 0;
  #callMs = 0;
  /** Cores that the speech of a call takes on average. */
  #coresPerCall: number | undefined;

  constructor(options: LineCapacityOptions) {
    this.#options = { cores: availableParallelism(), now: () => performance.now(), ...options };
    this.#advancedAt = this.#options.now();
  }

  /** A speech model has worked for this long. */
  worked(ms: number): void {
    this.#advance();
    this.#workMs += ms;
  }

  /** So many calls are open now. */
  setCalls(calls: number): void {
    this.#advance();
    this.#calls = calls;
  }

  get capacity(): number {
    const { maxCalls, maxLoad, cores } = this.#options;
    this.#advance();
    if (maxLoad === 0 || this.#coresPerCall === undefined) return maxCalls;
    return Math.max(1, Math.min(maxCalls, Math.floor((maxLoad * cores) / this.#coresPerCall)));
  }

  /** Takes a caller in, or throws the reason. */
  admit(ticket?: string): void {
    const { free } = this.#placeOf(ticket);
    if (!free) throw this.#refusal();
    if (ticket !== undefined) this.#waiting.delete(ticket);
  }

  /** Keeps a place for a caller who asks again and again. */
  wait(ticket: string): LinePlace {
    if (!this.#waiting.has(ticket) && this.#waiting.size >= mostWaiting) throw this.#refusal();
    this.#waiting.set(ticket, this.#options.now());
    const place = this.#placeOf(ticket);
    return { ...place, reason: place.free ? '' : this.#refusal().message };
  }

  leave(ticket: string): void {
    this.#waiting.delete(ticket);
  }

  #placeOf(ticket: string | undefined): Omit<LinePlace, 'reason'> {
    const now = this.#options.now();
    for (const [other, askedAt] of this.#waiting)
      if (now - askedAt > goneAfterMs) this.#waiting.delete(other);
    const order = [...this.#waiting.keys()];
    const place = ticket === undefined ? -1 : order.indexOf(ticket);
    const ahead = place < 0 ? order.length : place;
    return { free: this.#calls + ahead < this.capacity, ahead };
  }

  #refusal() {
    const { maxCalls } = this.#options;
    if (this.#calls >= maxCalls) return mediaErrors.lines_busy({ calls: maxCalls });
    const { capacity } = this;
    return this.#calls >= capacity ? mediaErrors.machine_busy({ capacity }) : mediaErrors.line_kept();
  }

  #advance(): void {
    const now = this.#options.now();
    const passed = now - this.#advancedAt;
    this.#advancedAt = now;
    const kept = Math.exp(-passed / memoryMs);
    this.#workMs *= kept;
    this.#callMs = this.#callMs * kept + this.#calls * passed;
    if (this.#callMs >= fewestCallMs) this.#coresPerCall = this.#workMs / this.#callMs;
  }
}
