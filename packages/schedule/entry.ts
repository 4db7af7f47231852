import type { Schedule } from './schedule.ts';

/** What a `DueHeap` holds. The heap keeps `heapIndex` up to date; -1 means that the item is not in it. */
export interface Due {
  dueAt: number;
  /** Decides between items that are due at the same time. */
  readonly order: number;
  heapIndex: number;
}

/** A binary heap with the item that is due first on top. Each item knows its place, so that it can be moved or removed. */
export class DueHeap<Item extends Due> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  /** Puts an item in, or to its right place after its time has changed. */
  place(item: Item): void {
    if (item.heapIndex < 0) this.#set(this.#items.length, item);
    this.#rise(item);
    this.#sink(item);
  }

  /** Takes an item out; one that is not in the heap is left alone. */
  remove(item: Item): void {
    const index = item.heapIndex;
    if (index < 0) return;
    const last = this.#items.pop();
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#set(index, last);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(item: Item): void {
    for (;;) {
      const parent = this.#items[(item.heapIndex - 1) >> 1];
      if (parent === undefined || !isBefore(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const left = this.#items[item.heapIndex * 2 + 1];
      const right = this.#items[item.heapIndex * 2 + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, item)) return;
      this.#swap(item, child);
    }
  }

  #swap(one: Item, other: Item): void {
    const index = one.heapIndex;
    this.#set(other.heapIndex, one);
    this.#set(index, other);
  }

  #set(index: number, item: Item): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);
}

/** A job inside the scheduler. */
export class Entry<J extends Job> implements Due {
  job: J;
  schedule: Schedule;
  readonly order: number;
  heapIndex = -1;
  /** The time that comes next, and when it is due with its jitter. */
  slot = 0;
  dueAt = 0;
  /** The newest time given to the runner. */
  handedOut: number | undefined = undefined;
  /** True when `slot` had passed before anyone could watch for it. */
  missed = false;
  failures = 0;
  running = 0;
  waiting: Fire[] | undefined = undefined;
  removed = false;

  constructor(job: J, schedule: Schedule, order: number) {
    this.job = job;
    this.schedule = schedule;
    this.order = order;
  }

  get lastFired(): number | undefined {
    const { lastFired } = this.job;
    if (lastFired === undefined || this.handedOut === undefined) return lastFired ?? this.handedOut;
    return Math.max(lastFired, this.handedOut);
  }

  /** Sets the time that comes next. */
  aim(slot: number, now: number): void {
    if (slot !== this.slot) this.failures = 0;
    this.slot = slot;
    this.dueAt = slot + jitter(this.job, slot);
    this.missed = this.dueAt < now;
  }

  wait(fire: Fire): void {
    this.waiting ??= [];
    this.waiting.push(fire);
  }

  /** Lets nothing wait any longer; a one-shot that had waited is still to come. */
  forgetWaiting(): void {
    const planned = this.waiting?.some((fire) => !fire.manual) ?? false;
    if (planned && this.schedule.type === 'once') this.handedOut = undefined;
    this.waiting = undefined;
  }

  state(): JobState<J> {
    return {
      job: this.job,
      type: this.schedule.type,
      next: this.heapIndex < 0 ? undefined : this.dueAt,
      lastFired: this.lastFired,
      running: this.running,
      waiting: this.waiting?.length ?? 0,
    };
  }
}

/**
 * The time an entry waits for: the newest one that has passed without being fired, else the next one ahead.
 * Undefined means that nothing is ahead; for a one-shot, that it was fired.
 */
export function slotToWaitFor<J extends Job>(entry: Entry<J>, now: number): number | undefined {
  const newest = entry.schedule.previous(now + 1);
  const since = entry.schedule.type === 'once' ? entry.lastFired : coveredUntil(entry);
  if (newest !== undefined && (since === undefined || newest > since)) return newest;
  return entry.schedule.next(now);
}

function coveredUntil<J extends Job>(entry: Entry<J>): number {
  const { createdAt, resumedAt = createdAt } = entry.job;
  return Math.max(createdAt, resumedAt, entry.lastFired ?? createdAt);
}

/** The same for the same fire, so that a restart neither doubles nor moves it. */
function jitter(job: Job, slot: number): number {
  if (job.jitterMs === undefined || job.jitterMs <= 0) return 0;
  let hash = 0x811c9dc5;
  for (const character of `${job.id}@${slot}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  // The last bits alone differ too little between neighbours.
  hash ^= hash >>> 15;
  return Math.floor(((Math.imul(hash, 0x2c1b3c6d) >>> 0) / 2 ** 32) * job.jitterMs);
}

/** What to do when a job comes due while an earlier fire of it still runs. */
type Overlap = 'skip' | 'queue' | 'allow';

/** One scheduled job. Callers add fields of their own; the scheduler keeps what it is given and changes nothing in it. */
export interface Job {
  id: string;
  /** Five-field cron, a name such as `@daily`, or an ISO date and time. */
  schedule: string;
  /** IANA zone; the scheduler's own when left out. */
  timezone?: string;
  paused?: boolean;
  /** The newest `scheduledAt` that was dealt with, from the caller's store. */
  lastFired?: number;
  overlap: Overlap;
  /** Spreads fires over that many milliseconds after their time; keep it shorter than the period. */
  jitterMs?: number;
  /** Times of a cron job up to this one are not missed fires: there was no job yet. */
  createdAt: number;
  /** Set by `resume`: times of a cron job up to this one were left out on purpose. */
  resumedAt?: number;
}

/** One fire of a job. */
export interface Fire {
  /** `<id>@<scheduledAt>`, the same for every attempt at this time: the key against doing it twice. */
  fireId: string;
  scheduledAt: number;
  /** True when the time had passed while nobody watched: the process was down or the machine slept. */
  missed: boolean;
  /** True when `runNow` asked for it. */
  manual: boolean;
  /** 1, and more when a one-shot is tried again after a failure. */
  attempt: number;
  /** Aborted when `stop` has waited long enough. */
  signal: AbortSignal;
}

/** A job as it stands. */
export interface JobState<J extends Job> {
  job: J;
  type: Schedule['type'];
  /** When it is due next; undefined while it is paused or has nothing ahead. */
  next: number | undefined;
  lastFired: number | undefined;
  running: number;
  waiting: number;
}

/**
 * The scheduler keeps no store: these tell the caller what to write down.
 *
 * To fire at least once, record `lastFired = fire.scheduledAt` in `afterFire`: after a crash in mid-fire the next start fires it again,
 * with the same id. To fire at most once, record it in `beforeFire`. A hook that throws is reported to `onError`.
 */
export interface SchedulerHooks<J extends Job> {
  /**
   * Awaited before the handler. Giving false says that this fire is done already, by its id: it is not run.
   * Throwing says that it may not run now: it counts as failed.
   */
  beforeFire?: (job: J, fire: Fire) => unknown;
  /** Awaited after the handler, with its failure if there was one. */
  afterFire?: (job: J, fire: Fire, failure: { error: unknown } | undefined) => unknown;
  /** A fire was left out as earlier ones of the job still run. Record it as `lastFired`, or the next start takes it for missed. */
  onSkipped?: (job: J, fire: Fire) => unknown;
  /** A time that passed more than a day ago is not made up for. */
  onMissed?: (job: J, missed: { scheduledAt: number; lateMs: number }) => unknown;
  /** A one-shot is over, fired or missed, and no longer in the scheduler. */
  onFinished?: (job: J) => unknown;
  /** A handler or a hook failed. Must not throw. */
  onError: (error: unknown, job: J, fire: Fire | undefined) => void;
}

export function fireId(id: string, scheduledAt: number, manual: boolean): string {
  return `${id}@${isoTime(scheduledAt)}${manual ? '#now' : ''}`;
}

export function isoTime(time: number): string {
  return new Date(time).toISOString();
}
