import { setTimeout as delay } from 'node:timers/promises';
import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { ControlPlane } from '../control/control-plane.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { CronFolder } from './cron-folder.ts';
import { editRecord, withField } from './record.ts';

const longestHold = 5000;

const holdMs = 10;

export interface Outcome {
  status: 'done' | 'failed';
  detail: string | null;
}

export interface OutcomeSettings {
  bus: Bus;
  clock: Clock;
  limitMs: number;
  /** Receives outcomes that nobody here waits for. */
  onStray: (fireId: string, outcome: Outcome) => void;
}

interface Expectation {
  settle: (outcome: Outcome | undefined) => void;
}

/** Thousands of schedules may fire together. */
const queueLimit = 100_000;
const fireIdForm = /^[a-z0-9][a-z0-9.-]*@\d{4}-\d\d-\d\dT[\d:.]+Z(#now)?$/;

/** Collects the outcomes of fires; a fire's id is the correlation of all that follows. */
export class FireResults {
  readonly #settings: OutcomeSettings;
  readonly #expected = new Map<string, Expectation>();

  constructor(settings: OutcomeSettings) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const options = { plugin: 'scheduler', queueLimit };
    const handle = (message: Message) => this.#take(message);
    await this.#settings.bus.subscribe('agent.skill.response.*', handle, options);
    await this.#settings.bus.subscribe('dispatch.dropped.*', handle, options);
    // The same answer on its way out, for those who subscribed between the two.
    const reply = (message: Message) => {
      if (text(fieldsOf(message.payload).taskState) !== undefined) this.#take(message);
    };
    await this.#settings.bus.subscribe('message.outbound.#', reply, options);
  }

  /** Undefined when no outcome came in time. */
  expect(fireId: string, limitMs = this.#settings.limitMs): Promise<Outcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<Outcome | undefined>();
    const timer = this.#settings.clock.setTimer(limitMs, () => settle(undefined));
    const settle = (outcome: Outcome | undefined) => {
      timer.cancel();
      this.#expected.delete(fireId);
      resolve(outcome);
    };
    this.#expected.set(fireId, { settle });
    return promise;
  }

  /** Searches the journal for an answer that came while nobody watched. */
  async past(fireId: string): Promise<Outcome | undefined> {
    const query = { correlationId: fireId, topic: 'message.outbound.#', limit: 10 };
    const answers = await this.#settings.bus.history(query);
    const answer = answers.find(({ message }) => text(fieldsOf(message.payload).taskState) !== undefined);
    return answer && outcomeOf(answer.message);
  }

  resolve(fireId: string, outcome: Outcome): void {
    this.#expected.get(fireId)?.settle(outcome);
  }

  /** Ends all waits. */
  close(): void {
    for (const { settle } of [...this.#expected.values()]) settle(undefined);
  }

  #take(message: Message): void {
    const { correlationId } = message;
    if (!fireIdForm.test(correlationId)) return;
    const outcome = outcomeOf(message);
    const expected = this.#expected.get(correlationId);
    if (expected === undefined) this.#settings.onStray(correlationId, outcome);
    else expected.settle(outcome);
  }
}

function outcomeOf({ payload }: Message): Outcome {
  const fields = fieldsOf(payload);
  const problem = text(fields.error) ?? text(fields.why);
  return problem === undefined ? { status: 'done', detail: null } : { status: 'failed', detail: problem };
}

interface AfterFireSettings {
  folder: CronFolder;
  controlPlane: ControlPlane;
  /** File writes must not delay fires that are being published. */
  isBusy: () => boolean;
  /** Called when a one-shot's file has been removed. */
  onRemoved: (id: string) => Promise<void>;
  logger: Logger;
}

/** The last fire to write, or the schedule of a one-shot whose file goes. */
type Work = { firedAt: number } | { over: string };

/**
 * Updates the files after fires, one at a time: writes `lastFired` and removes finished one-shots. The ledger is
 * written first, so a crash loses nothing, and the disk does not delay thousands of fires.
 */
export class FireCompletion {
  readonly #settings: AfterFireSettings;
  readonly #waiting = new Map<string, Work>();
  #running: Promise<void> | undefined;
  #writing: { id: string; done: Promise<void> } | undefined;
  #closed = false;

  constructor(settings: AfterFireSettings) {
    this.#settings = settings;
  }

  fired(id: string, scheduledAt: number): void {
    this.#add(id, { firedAt: scheduledAt });
  }

  /** Removes the file of a finished one-shot, unless it has a new schedule by then. */
  finished(id: string, schedule: string): void {
    this.#add(id, { over: schedule });
  }

  /** Resolves when nothing more will be written for this id: its file is about to change. */
  async release(id: string): Promise<void> {
    this.#waiting.delete(id);
    if (this.#writing?.id === id) await this.#writing.done;
  }

  /** Waits for the write under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#hold();
    for (const [id, what] of this.#waiting) {
      if (this.#closed) break;
      this.#waiting.delete(id);
      this.#writing = { id, done: this.#bring(id, what) };
      await this.#writing.done;
      if (this.#settings.isBusy()) await this.#hold();
    }
    this.#running = undefined;
  }

  /** Fires go first, but files do not wait forever. */
  async #hold(): Promise<void> {
    const end = performance.now() + longestHold;
    do await delay(holdMs);
    while (this.#settings.isBusy() && !this.#closed && performance.now() < end);
  }

  #add(id: string, what: Work): void {
    this.#waiting.set(id, what);
    this.#running ??= this.#run();
  }

  async #bring(id: string, what: Work): Promise<void> {
    try {
      if ('over' in what) await this.#remove(id, what.over);
      else await this.#write(id, what.firedAt);
    } catch (error) {
      this.#settings.logger.warn(
        { err: error, schedule: id },
        'failed to update the schedule file; the ledger is up to date',
      );
    }
  }

  async #remove(id: string, schedule: string): Promise<void> {
    const { folder, controlPlane, onRemoved } = this.#settings;
    folder.refresh(id);
    if ((folder.get(id)?.record.schedule ?? schedule) !== schedule) return;
    await controlPlane.remove('cron', id, { actor: 'scheduler', reason: 'it fired', quiet: true });
    folder.refresh(id);
    await onRemoved(id);
  }

  async #write(id: string, scheduledAt: number): Promise<void> {
    const note = { actor: 'scheduler', quiet: true };
    const lastFired = new Date(scheduledAt).toISOString();
    await editRecord(this.#settings, id, (text) => withField(text, 'lastFired', lastFired), note);
  }
}
