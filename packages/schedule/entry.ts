import type { Due } from './heap.ts';
import type { Fire, Job, JobState } from './job.ts';
import type { Schedule } from './schedule.ts';

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
