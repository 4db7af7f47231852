import { type Bus, escapeSegment } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Clock, type Fire, type Job, Scheduler } from '@trunkline/schedule';
import type { Leader } from '../cluster/leader.ts';
import { derivedId } from '../core/derived-id.ts';
import type { Ceremony } from '../workspace/schema/ceremony.ts';
import type { RunStore } from './run-store.ts';

export interface TimetableSettings {
  bus: Bus;
  clock: Clock;
  leader: Leader;
  store: RunStore;
  ceremonies: () => readonly Ceremony[];
  logger: Logger;
}

/** Begins ceremonies at their times, in UTC, while this switchboard leads. */
export class Timetable {
  readonly #settings: TimetableSettings;
  #scheduler: Scheduler | undefined;

  constructor(settings: TimetableSettings) {
    this.#settings = settings;
  }

  async lead(isLeader: boolean): Promise<void> {
    await this.stop();
    if (!isLeader) return;
    const { clock, logger } = this.#settings;
    this.#scheduler = new Scheduler({
      clock,
      timezone: 'UTC',
      fire: (job, fire) => this.#begin(job, fire),
      beforeFire: () => this.#settings.leader.confirm(),
      onError: (error, { id }) => logger.error({ err: error, ceremony: id }, 'a ceremony could not begin'),
    });
    this.refresh();
    this.#scheduler.start();
  }

  /** Takes the ceremonies as their files stand now. */
  refresh(): void {
    const scheduler = this.#scheduler;
    if (scheduler === undefined) return;
    const wanted = new Map(this.#settings.ceremonies().map((ceremony) => [ceremony.id, ceremony]));
    for (const { job } of scheduler.list()) if (!wanted.has(job.id)) scheduler.remove(job.id);
    for (const ceremony of wanted.values()) scheduler.replace(this.#jobOf(ceremony));
  }

  async stop(): Promise<void> {
    const scheduler = this.#scheduler;
    this.#scheduler = undefined;
    await scheduler?.stop(0);
  }

  #jobOf({ id, schedule, enabled }: Ceremony): Job {
    const { store, clock } = this.#settings;
    const lastFired = store.lastScheduled(id);
    const rule = `${schedule} ${enabled}`;
    const createdAt = store.since(id, rule, clock.now());
    return {
      id,
      schedule,
      overlap: 'skip',
      paused: !enabled,
      createdAt,
      ...(lastFired !== undefined && { lastFired }),
    };
  }

  async #begin({ id }: Job, { fireId, scheduledAt }: Fire): Promise<void> {
    const { store, bus, clock, logger } = this.#settings;
    if (store.running().some(({ ceremonyId }) => ceremonyId === id)) {
      logger.warn({ ceremony: id }, 'left out, as its last run still goes on');
      return;
    }
    await bus.publish({
      topic: `ceremony.${escapeSegment(id)}.execute`,
      id: derivedId(fireId, 'ceremony'),
      timestamp: clock.now(),
      payload: { runId: derivedId(fireId, 'run'), trigger: 'schedule', scheduledAt },
      source: { interface: 'ceremony', channelId: id },
      principal: { kind: 'service', id: `ceremony:${id}`, via: [] },
    });
  }
}
