import { type Bus, type Draft, defaultDurableTopics, matchesTopic } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { HttpError } from '@trunkline/http';
import { type AccountAccess, type Principal, withOrigins } from '@trunkline/identity';
import { type Clock, type Fire, isoTime } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import type { FireRow, FireStatus } from '../api-types.ts';
import type { Leader } from '../cluster/leader.ts';
import { derivedId, scheduled } from '../core/messages.ts';
import { isRouted } from '../router/router.ts';
import type { FireResults, Outcome } from './fire-results.ts';
import type { ScheduleJob } from './record.ts';

export interface FireSettings {
  bus: Bus;
  clock: Clock;
  leader: Leader;
  outcomes: FireResults;
  logger: Logger;
  accounts: Pick<AccountAccess, 'current'>;
  known: (fireId: string) => FireRow | undefined;
  /** Writes a fire into the ledger. */
  note: (row: FireRow) => Promise<void>;
  /** As `note`, for the end of a fire; retried until it is written. */
  noteEnd: (row: FireRow) => Promise<void>;
}

/** Files are updated after this long without a fire. */
const calmMs = 50;
const firstWaitMs = 1000;
const longestWaitMs = 30_000;
const longestMessageId = 128;
const keptTopics = 1000;

/** Publishes a fire once under its id, records it, and follows it to its result. */
export function createFires(settings: FireSettings) {
  const { outcomes, bus, clock, leader, logger, accounts, noteEnd, known, note } = settings;
  let publishing = 0;
  let lastBegun = 0;
  /** Runs of another leader or from before a restart, by schedule. */
  const inherited = new Map<string, Promise<unknown>>();
  /** Whether fires on a topic get an answer; schedules share few topics. */
  const followed = new Map<string, boolean>();

  /** Whether a fire just began, or is being published. */
  function isBusy(): boolean {
    return publishing > 0 || performance.now() - lastBegun < calmMs;
  }

  /** Throws when another switchboard leads by now. */
  async function before(job: ScheduleJob, fire: Fire): Promise<boolean> {
    lastBegun = performance.now();
    await leader.confirm();
    if (known(fire.fireId) !== undefined) return false;
    if ((fire.missed || fire.attempt > 1) && (await wasPublished(job, fire))) {
      const row = rowOf(job, fire, 'fired', null);
      await note(row);
      await inherit([row]);
      return false;
    }
    const refusal = refusalOf(job);
    if (refusal !== undefined) {
      await note(rowOf(job, fire, 'skipped', refusal));
      return false;
    }
    const earlier = inherited.get(job.id);
    return earlier === undefined || (await isClear(earlier, job, fire));
  }

  /** Whoever made the schedule, with their rights of today and what its words were drawn from. Throws if their account is disabled or was removed. */
  function principalOf({ id, record }: ScheduleJob): Principal {
    const maker = accounts.current(scheduled(id, record.owner));
    return withOrigins(maker, record.payload.origins);
  }

  function refusalOf(job: ScheduleJob): string | undefined {
    try {
      principalOf(job);
    } catch (error) {
      if (error instanceof HttpError) return error.message;
      throw error;
    }
    return undefined;
  }

  /** Publishes, and waits for the outcome unless runs may overlap. */
  async function perform(job: ScheduleJob, fire: Fire): Promise<void> {
    const hasAnswer = isFollowed(job.record.topic);
    const outcome = hasAnswer ? outcomes.expect(fire.fireId) : undefined;
    await publish(job, fire);
    await note(rowOf(job, fire, hasAnswer ? 'fired' : 'done', null));
    const ended = outcome && end(rowOf(job, fire, 'fired', null), outcome);
    const waits = job.overlap !== 'allow' && job.type !== 'once';
    if (waits) await ended;
  }

  function isFollowed(topic: string): boolean {
    const known = followed.get(topic);
    if (known !== undefined) return known;
    if (followed.size >= keptTopics) followed.clear();
    const found = isRouted(topic);
    followed.set(topic, found);
    return found;
  }

  /** Follows fires of another process: first in the journal, then live. */
  async function inherit(rows: readonly FireRow[]): Promise<void> {
    for (const row of rows) {
      const coming = outcomes.expect(row.fireId);
      const past = await outcomes.past(row.fireId);
      if (past !== undefined) outcomes.resolve(row.fireId, past);
      const ended = end(row, coming);
      inherited.set(row.scheduleId, ended);
      void ended.finally(() => inherited.delete(row.scheduleId));
    }
  }

  async function skipped(job: ScheduleJob, fire: Fire): Promise<void> {
    const detail = 'an earlier run still went on';
    await note(rowOf(job, fire, 'skipped', detail));
  }

  /** The new leader, or the next start, continues what failed for lack of the lease or at shutdown. */
  async function failed(job: ScheduleJob, fire: Fire, error: unknown): Promise<void> {
    if (!leader.isLeader() || fire.signal.aborted) return;
    const detail = errorMessage(error);
    await note(rowOf(job, fire, 'failed', detail));
  }

  async function isClear(earlier: Promise<unknown>, job: ScheduleJob, fire: Fire): Promise<boolean> {
    if (job.overlap === 'allow') return true;
    if (job.overlap === 'skip' && !fire.manual && job.type !== 'once') {
      await skipped(job, fire);
      return false;
    }
    await earlier;
    return true;
  }

  /** The journal keeps ids longer than a fire can be late. */
  async function wasPublished({ record }: ScheduleJob, { fireId }: Fire): Promise<boolean> {
    if (!defaultDurableTopics.some((pattern) => matchesTopic(pattern, record.topic))) return false;
    const query = { topic: record.topic, correlationId: fireId, limit: 1 };
    return (await bus.history(query)).length > 0;
  }

  /** Retries until the bus accepts the message: a fire may be late, but is not lost. */
  async function publish(job: ScheduleJob, fire: Fire): Promise<void> {
    publishing += 1;
    try {
      for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
        const error = await bus.publish(messageOf(job, fire, principalOf(job))).then(
          () => undefined,
          (cause: unknown) => ({ cause }),
        );
        if (error === undefined) return;
        const { cause } = error;
        if (!leader.isLeader() || fire.signal.aborted || isForGood(cause)) throw cause;
        const details = { err: cause, fireId: fire.fireId, waitMs: wait };
        logger.error(details, 'failed to publish scheduled run; retrying');
        await new Promise<void>((resolve) => clock.setTimer(wait, resolve));
        await leader.confirm();
      }
    } finally {
      publishing -= 1;
    }
  }

  async function end(row: FireRow, coming: Promise<Outcome | undefined>): Promise<void> {
    const outcome = await coming;
    if (outcome !== undefined) await noteEnd({ ...row, ...outcome, endedAt: clock.now() });
  }

  function rowOf(job: ScheduleJob, fire: Fire, status: FireStatus, detail: string | null): FireRow {
    const now = clock.now();
    const { fireId, scheduledAt, manual, missed } = fire;
    const endedAt = status === 'fired' ? null : now;
    return { fireId, scheduleId: job.id, scheduledAt, firedAt: now, manual, missed, status, endedAt, detail };
  }

  return { isBusy, before, perform, inherit, skipped, failed };
}

export type Fires = ReturnType<typeof createFires>;

/** The bus will not accept refused content later. */
function isForGood(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /refused|too_large/.test(String(error.code));
}

/** Stable id and content, however often it is tried. */
function messageOf({ id, record }: ScheduleJob, { fireId, scheduledAt }: Fire, principal: Principal): Draft {
  const { sender, channel } = record.payload;
  const times = { scheduleId: id, fireId, scheduledAt: isoTime(scheduledAt) };
  const remote = channel === 'a2a' ? { scheduler_job_id: id } : {};
  return {
    topic: record.topic,
    id: fireId.length <= longestMessageId ? fireId : derivedId(fireId, 'fire'),
    correlationId: fireId,
    payload: { ...remote, ...record.payload, ...times },
    source: { interface: 'cron', channelId: channel, userId: sender },
    principal,
  };
}
