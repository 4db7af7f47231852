import { randomUUID } from 'node:crypto';
import type { Logger } from '@trunkline/config';
import { joinOrigins, type Origin, ownerKey, type Principal, parseOrigins } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import {
  type Clock,
  type Job,
  parseSchedule,
  Scheduler,
  systemClock,
  systemTimezone,
} from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import type { Database } from '@trunkline/storage';
import { z } from 'zod';
import type { DeliveryPort } from '../delivery/delivery.ts';

const sender = 'Your reminder';
/** Of one user. */
const mostReminders = 100;
const shortestRepeatMinutes = 15;
/** Times whose distance is checked. */
const lookedAhead = 10;

const newReminder = z.object({
  text: z.string().min(1).max(2000).describe('What to tell the person then, as one short sentence.'),
  when: z
    .string()
    .max(100)
    .optional()
    .describe(
      'An ISO-8601 date and time for once, or a 5-field cron expression (every 15 minutes at most); in `timezone`, unless the time has an offset.',
    ),
  in_minutes: z
    .number()
    .positive()
    .max(525_600)
    .optional()
    .describe('For once, from now on, in place of `when`.'),
  timezone: z
    .string()
    .max(100)
    .optional()
    .describe('IANA time zone of `when`; left out, that of the person.'),
});

/**
 * Reminders are spoken to the user when they are due, at the next pause; who is not connected hears them later.
 * The user sees all of them in a call; a `sender`, who writes, only the own ones, and the operator all.
 */
export function createReminderTools(reminders: Reminders, userId: string, sender?: Principal): Tool[] {
  const setBy = sender && ownerKey(sender);
  const seen = () =>
    reminders
      .of(userId)
      .filter((each) => sender === undefined || sender.kind === 'operator' || each.sender === setBy);
  return [
    defineTool({
      name: 'set_reminder',
      effects: ['writes'],
      description:
        'Sets a reminder that you will speak to the person when it is due, once or again and again. For work that is to be done later, not only said, ask an agent instead.',
      input: newReminder,
      execute: async ({ text, when, in_minutes, timezone }, { principal, timezone: callers }) => {
        try {
          const at = when ?? (in_minutes === undefined ? '' : reminders.inMinutes(in_minutes));
          const { id, next } = reminders.set(userId, {
            text,
            when: at,
            timezone: timezone?.trim() || callers,
            origins: principal?.origins,
            sender: setBy,
          });
          return `Reminder ${id} is set for ${new Date(next).toISOString()}.`;
        } catch (error) {
          return `Error: ${errorMessage(error)}`;
        }
      },
    }),
    defineTool({
      name: 'cancel_reminder',
      effects: ['writes'],
      description: 'Cancels a reminder of the person. With a wrong id it lists those that wait.',
      input: z.object({ id: z.string() }),
      execute: async ({ id: given }, { addOrigins }) => {
        const waiting = seen();
        const id = given.trim();
        if (waiting.some((each) => each.id === id) && reminders.cancel(userId, id))
          return `Canceled reminder ${id}.`;
        if (waiting.length === 0) return 'Error: no such reminder. None waits.';
        addOrigins?.(joinOrigins(...waiting.map(({ origins }) => origins)));
        const lines = waiting.map((each) => `${each.id} | ${each.schedule} | ${each.text}`);
        return `Error: no such reminder. These wait:\n${lines.join('\n')}`;
      },
    }),
  ];
}

export interface RemindersOptions {
  database: Database;
  delivery: DeliveryPort;
  clock?: Clock;
  logger: Logger;
}

interface Reminder extends Job {
  userId: string;
  text: string;
  origins: readonly Origin[];
  /** Who set it in writing; null for one that was set in a call. */
  sender: string | null;
}

/** Reminders of all users. They survive restarts; one whose time passed meanwhile is told at once. */
export class Reminders {
  readonly #options: RemindersOptions;
  readonly #clock: Clock;
  readonly #scheduler: Scheduler<Reminder>;

  constructor(options: RemindersOptions) {
    const { clock = systemClock, logger } = options;
    this.#options = options;
    this.#clock = clock;
    this.#scheduler = new Scheduler<Reminder>({
      clock,
      fire: (reminder) => this.#tell(reminder),
      onMissed: (reminder) => this.#tell(reminder),
      afterFire: ({ id }, { scheduledAt }) =>
        this.#write('UPDATE reminders SET last_fired = ? WHERE id = ?', scheduledAt, id),
      onFinished: ({ id }) => this.#write('DELETE FROM reminders WHERE id = ?', id),
      onError: (error, { id }) => logger.error({ err: error, id }, 'failed to tell reminder; retrying'),
    });
    for (const reminder of this.#stored()) this.#scheduler.replace(reminder);
    this.#scheduler.start();
  }

  inMinutes(minutes: number): string {
    return new Date(this.#clock.now() + minutes * 60_000).toISOString();
  }

  /** Throws words for the person where the time cannot be read or has passed, or there are too many. */
  set(
    userId: string,
    given: {
      text: string;
      when: string;
      timezone?: string | undefined;
      origins?: readonly Origin[] | undefined;
      sender?: string | undefined;
    },
  ): { id: string; next: number } {
    const { text, when, timezone = systemTimezone(), origins = [], sender = null } = given;
    const now = this.#clock.now();
    const times = parseSchedule(when, { timezone }).preview(lookedAhead, now);
    const [next] = times;
    if (next === undefined)
      throw new Error(`the time ${when} has passed; it is ${new Date(now).toISOString()} now.`);
    if (times.some((time, index) => time - (times[index - 1] ?? -Infinity) < shortestRepeatMinutes * 60_000))
      throw new Error(
        `a reminder repeats every ${shortestRepeatMinutes} minutes at most; choose a longer time.`,
      );
    if (this.of(userId).length >= mostReminders)
      throw new Error(`there are ${mostReminders} reminders already; cancel some first.`);
    const id = randomUUID().slice(0, 8);
    this.#options.database
      .prepare(
        'INSERT INTO reminders (id, user_id, text, schedule, timezone, origins, created_at, sender) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(id, userId, text, when, timezone, JSON.stringify(origins), now, sender);
    this.#scheduler.replace({
      id,
      userId,
      text,
      schedule: when,
      timezone,
      origins,
      sender,
      createdAt: now,
      overlap: 'skip',
    });
    return { id, next };
  }

  of(userId: string): Reminder[] {
    return this.#scheduler
      .list()
      .map(({ job }) => job)
      .filter((job) => job.userId === userId);
  }

  /** Returns whether there was such a reminder of the user. */
  cancel(userId: string, id: string): boolean {
    if (!this.of(userId).some((reminder) => reminder.id === id)) return false;
    this.#options.database.prepare('DELETE FROM reminders WHERE id = ?').run(id);
    return this.#scheduler.remove(id);
  }

  async stop(): Promise<void> {
    await this.#scheduler.stop(0);
  }

  #tell({ userId, text, origins }: Reminder): void {
    this.#options.delivery.deliver(userId, { from: sender, text, policy: 'next_silence', origins });
  }

  #write(sql: string, ...values: (string | number)[]): void {
    try {
      this.#options.database.prepare(sql).run(...values);
    } catch (error) {
      this.#options.logger.error(
        { err: error },
        'failed to record reminder; it is told again after a restart',
      );
    }
  }

  #stored(): Reminder[] {
    return this.#options.database
      .prepare<Row>('SELECT * FROM reminders')
      .all()
      .map(({ user_id: userId, origins, created_at: createdAt, last_fired, ...row }) => ({
        ...{ ...row, userId, createdAt, overlap: 'skip' as const },
        origins: parseOrigins(JSON.parse(origins)) ?? [],
        ...(last_fired !== null && { lastFired: last_fired }),
      }));
  }
}

interface Row {
  id: string;
  user_id: string;
  text: string;
  schedule: string;
  timezone: string;
  /** A JSON list. */
  origins: string;
  created_at: number;
  last_fired: number | null;
  sender: string | null;
}
