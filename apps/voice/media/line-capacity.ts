import { availableParallelism } from 'node:os';
import type { Principal } from '@trunkline/identity';
import { mediaErrors } from './media-errors.ts';

export interface LineCapacityOptions {
  maxCalls: number;
  /** Share of the processor that the speech of all calls may take; 0: no limit. */
  maxLoad: number;
  cores?: number;
  /** Milliseconds that only go forward. */
  now?(): number;
  /** Called when another caller waits. */
  onWait?(caller: { owner: string; waiting: number }): void;
}

/** Who wants a line. */
export interface LineClaim {
  /** Made up by the client; names its place among those who wait, and its line. */
  ticket: string | undefined;
  /** Nobody else can use the ticket. */
  owner: string;
  isGuest: boolean;
  /** Stands for everybody, or is the operator, and may have every line. */
  mayHaveAll: boolean;
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

interface Place {
  claim: LineClaim;
  /** The line of a call that broke. */
  isKept: boolean;
  expiresAt: number;
  /** A line is free for this caller since then. */
  freeSince: number | undefined;
}

/** The load of a call is measured in stretches of this much time of calls. */
const stretchMs = 30_000;
/** The middle of so many stretches counts, so that a machine that was slow for a minute is not taken for a slow one. */
const fewestStretches = 5;
const mostStretches = 9;
/** What was measured longer ago than this says nothing: when nobody calls, it is forgotten. */
const memoryMs = 600_000;

/** A waiting page asks every few seconds, and once a minute while it is in the background; one that does not is gone. */
const goneAfterMs = 90_000;
/** The line of a call that broke is kept while its page tries to connect again. */
const brokenMs = 60_000;
/** A caller for whom a line was free for this long goes behind all others. */
const answerMs = 90_000;
const mostWaiting = 100;
/** Without accounts all callers are one. */
const mostOfOne = 4;
/** Lines that one caller may have however few there are: a page that calls again before its broken call was noticed has two. */
const fewestOfOne = 2;

/**
 * How many calls this machine serves well: measured by the work of the speech models per call, as people really talk.
 * A caller beyond that may wait, and comes before those who call later.
 */
export class LineCapacity {
  readonly #options: Required<LineCapacityOptions>;
  /** In the order in which they came. */
  #places: Place[] = [];
  /** Of the calls that are open. */
  #owners: readonly string[] = [];
  #advancedAt: number;
  /** The stretch that is being measured. */
  #stretch: { workMs: number; callMs: number; startedAt: number };
  /** Cores that the speech of a call took on average, of the last stretches. */
  #measured: { coresPerCall: number; at: number }[] = [];

  constructor(options: LineCapacityOptions) {
    this.#options = {
      cores: availableParallelism(),
      now: () => performance.now(),
      onWait: () => undefined,
      ...options,
    };
    this.#advancedAt = this.#options.now();
    this.#stretch = { workMs: 0, callMs: 0, startedAt: this.#advancedAt };
  }

  /** A speech model has worked for a call for this long. */
  worked(ms: number): void {
    this.#advance();
    // What a call that has ended left behind counts for none.
    if (this.#calls > 0) this.#stretch.workMs += ms;
  }

  /** The callers of the calls that are open now, as their claims name them. */
  setCalls(owners: readonly string[]): void {
    this.#advance();
    this.#owners = owners;
  }

  get #calls(): number {
    return this.#owners.length;
  }

  get capacity(): number {
    const { maxCalls, maxLoad, cores } = this.#options;
    this.#advance();
    const loads = this.#measured.map(({ coresPerCall }) => coresPerCall).toSorted((a, b) => a - b);
    const coresPerCall = loads[Math.floor((loads.length - 1) / 2)];
    if (maxLoad === 0 || coresPerCall === undefined || loads.length < fewestStretches) return maxCalls;
    return Math.max(1, Math.min(maxCalls, Math.floor((maxLoad * cores) / coresPerCall)));
  }

  /** Throws the reason why a caller cannot be taken in now. */
  check(claim: LineClaim): void {
    if (!this.#look(claim).free) throw this.#refusal();
    this.#refuseGreedy(claim);
  }

  /** Takes a caller in, or throws the reason. */
  admit(claim: LineClaim): void {
    this.check(claim);
    this.leave(claim);
  }

  /** Keeps a place for a caller who asks again and again. */
  wait(claim: LineClaim): LinePlace {
    this.#forgetGone();
    this.#refuseGreedy(claim);
    const now = this.#options.now();
    const place = this.#find(claim) ?? this.#add(claim);
    place.expiresAt = Math.max(place.expiresAt, now + goneAfterMs);
    const { free, ahead } = this.#look(claim);
    place.freeSince = free ? (place.freeSince ?? now) : undefined;
    return { free, ahead, reason: free ? '' : this.#refusal().message };
  }

  /** The caller's connection broke: the line stays theirs for a while. */
  keep(claim: LineClaim): void {
    if (claim.ticket === undefined) return;
    this.leave(claim);
    const expiresAt = this.#options.now() + brokenMs;
    this.#places.push({ claim, isKept: true, expiresAt, freeSince: undefined });
  }

  leave(claim: LineClaim): void {
    const place = this.#find(claim);
    this.#places = this.#places.filter((each) => each !== place);
  }

  /** Nobody takes more than half of the lines from the others; those that broken calls keep count too. */
  #refuseGreedy({ owner, ticket, mayHaveAll }: LineClaim): void {
    if (mayHaveAll) return;
    const most = Math.max(fewestOfOne, Math.ceil(this.capacity / 2));
    const calls = this.#owners.filter((each) => each === owner).length;
    const kept = this.#places.filter(
      ({ isKept, claim }) => isKept && claim.owner === owner && claim.ticket !== ticket,
    );
    if (calls + kept.length >= most) throw mediaErrors.lines_of_one({ calls: most });
  }

  #add(claim: LineClaim): Place {
    const own = this.#places.filter(({ claim: { owner } }) => owner === claim.owner);
    if (own.length >= mostOfOne || this.#places.length >= mostWaiting) throw this.#refusal();
    const place: Place = { claim, isKept: false, expiresAt: 0, freeSince: undefined };
    this.#places.push(place);
    this.#options.onWait({ owner: claim.owner, waiting: this.#places.length });
    return place;
  }

  #find({ ticket, owner }: LineClaim): Place | undefined {
    if (ticket === undefined) return undefined;
    return this.#places.find(({ claim }) => claim.ticket === ticket && claim.owner === owner);
  }

  #look(claim: LineClaim): Omit<LinePlace, 'reason'> {
    this.#forgetGone();
    const place = this.#find(claim);
    const rank = place === undefined ? rankOfCaller(claim) : this.#rankOf(place);
    const at = place === undefined ? this.#places.length : this.#places.indexOf(place);
    const isBefore = (other: Place, index: number) =>
      this.#rankOf(other) < rank || (this.#rankOf(other) === rank && index < at);
    const ahead = this.#places.filter(isBefore).length;
    // Whoever had a line keeps it, also where the machine turned out to serve fewer.
    const limit = place?.isKept ? this.#options.maxCalls : this.capacity;
    return { free: this.#calls + ahead < limit, ahead };
  }

  /** Who has a lower one comes first. */
  #rankOf({ claim, isKept, freeSince }: Place): number {
    if (isKept) return 0;
    const isOverdue = freeSince !== undefined && this.#options.now() - freeSince > answerMs;
    return isOverdue ? 3 : rankOfCaller(claim);
  }

  #forgetGone(): void {
    const now = this.#options.now();
    this.#places = this.#places.filter(({ expiresAt }) => expiresAt >= now);
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
    this.#measured = this.#measured.filter(({ at }) => now - at <= memoryMs);
    if (this.#calls === 0) return;
    if (now - this.#stretch.startedAt > memoryMs)
      this.#stretch = { workMs: 0, callMs: 0, startedAt: now - passed };
    this.#stretch.callMs += this.#calls * passed;
    const { workMs, callMs } = this.#stretch;
    if (callMs < stretchMs) return;
    this.#measured = [...this.#measured, { coresPerCall: workMs / callMs, at: now }].slice(-mostStretches);
    this.#stretch = { workMs: 0, callMs: 0, startedAt: now };
  }
}

function rankOfCaller({ isGuest }: LineClaim): number {
  return isGuest ? 2 : 1;
}

export function claimOf({ kind, id, role }: Principal, ticket: string | undefined): LineClaim {
  const mayHaveAll = kind === 'anonymous' || kind === 'operator';
  return { ticket, owner: `${kind} ${id}`, isGuest: role === 'guest', mayHaveAll };
}
