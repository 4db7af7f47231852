import { setTimeout as delay } from 'node:timers/promises';
import type { Bus, Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { ControlPlane } from '../control/control-plane.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { CronFolder } from './cron-folder.ts';
import { editRecord, readRecord, retryOvertaken, withField } from './record.ts';

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
export function createFireResults({ bus, limitMs, clock, onStray }: OutcomeSettings) {
  const expected = new Map<string, Expectation>();

  async function start(): Promise<void> {
    const options = { plugin: 'scheduler', queueLimit };
    const handle = (message: Message) => take(message);
    await bus.subscribe('agent.skill.response.*', handle, options);
    await bus.subscribe('dispatch.dropped.*', handle, options);
    // The same answer on its way out, for those who subscribed between the two.
    const reply = (message: Message) => {
      if (text(fieldsOf(message.payload).taskState) !== undefined) take(message);
    };
    await bus.subscribe('message.outbound.#', reply, options);
  }

  /** Undefined when no outcome came in time. */
  function expect(fireId: string): Promise<Outcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<Outcome | undefined>();
    const timer = clock.setTimer(limitMs, () => settle(undefined));
    const settle = (outcome: Outcome | undefined) => {
      timer.cancel();
      expected.delete(fireId);
      resolve(outcome);
    };
    expected.set(fireId, { settle });
    return promise;
  }

  /** Searches the journal for an answer that came while nobody watched. */
  async function past(fireId: string): Promise<Outcome | undefined> {
    const query = { correlationId: fireId, topic: 'message.outbound.#', limit: 10 };
    const answers = await bus.history(query);
    const answer = answers.find(({ message }) => text(fieldsOf(message.payload).taskState) !== undefined);
    return answer && outcomeOf(answer.message);
  }

  function resolve(fireId: string, outcome: Outcome): void {
    expected.get(fireId)?.settle(outcome);
  }

  /** Ends all waits. */
  function close(): void {
    for (const { settle } of [...expected.values()]) settle(undefined);
  }

  function take(message: Message): void {
    const { correlationId } = message;
    if (!fireIdForm.test(correlationId)) return;
    const outcome = outcomeOf(message);
    const expectation = expected.get(correlationId);
    if (expectation === undefined) onStray(correlationId, outcome);
    else expectation.settle(outcome);
  }

  return { start, expect, past, resolve, close };
}

export type FireResults = ReturnType<typeof createFireResults>;

function outcomeOf({ payload }: Message): Outcome {
  const fields = fieldsOf(payload);
  const problem = text(fields.error) ?? text(fields.why);
  return problem === undefined ? { status: 'done', detail: null } : { status: 'failed', detail: problem };
}

interface Writing {
  id: string;
  done: Promise<void>;
}

interface AfterFireSettings {
  folder: CronFolder;
  controlPlane: ControlPlane;
  /** File writes must not delay fires that are being published. */
  isBusy: () => boolean;
  /** Called when a one-shot's file has been removed. */
  onRemoved: (id: string, schedule: string) => Promise<void>;
  logger: Logger;
}

/** The last fire to write, or the schedule of a one-shot whose file goes. */
type Work = { firedAt: number } | { over: string };

/**
 * Updates the files after fires, one at a time: writes `lastFired` and removes finished one-shots. The ledger is
 * written first, so a crash loses nothing, and the disk does not delay thousands of fires.
 */
export function createFireCompletion(settings: AfterFireSettings) {
  const { onRemoved, isBusy, logger } = settings;
  const waiting = new Map<string, Work>();
  let running: Promise<void> | undefined;
  let writing: Writing | undefined;
  let closed = false;

  function fired(id: string, scheduledAt: number): void {
    add(id, { firedAt: scheduledAt });
  }

  /** Removes the file of a finished one-shot, unless it has a new schedule by then. */
  function finished(id: string, schedule: string): void {
    add(id, { over: schedule });
  }

  /** Resolves when nothing more will be written for this id: its file is about to change. */
  async function release(id: string): Promise<void> {
    waiting.delete(id);
    if (writing?.id === id) await writing.done;
  }

  /** Waits for the write under way. */
  async function close(): Promise<void> {
    closed = true;
    await running;
  }

  async function run(): Promise<void> {
    await hold();
    for (const [id, what] of waiting) {
      if (closed) break;
      waiting.delete(id);
      writing = { id, done: bring(id, what) };
      await writing.done;
      if (isBusy()) await hold();
    }
    running = undefined;
  }

  /** Fires go first, but files do not wait forever. */
  async function hold(): Promise<void> {
    const end = performance.now() + longestHold;
    do await delay(holdMs);
    while (isBusy() && !closed && performance.now() < end);
  }

  function add(id: string, what: Work): void {
    waiting.set(id, what);
    running ??= run();
  }

  async function bring(id: string, what: Work): Promise<void> {
    try {
      if ('over' in what) await remove(id, what.over);
      else await write(id, what.firedAt);
    } catch (error) {
      logger.warn(
        { err: error, schedule: id },
        'failed to update the schedule file; the ledger is up to date',
      );
    }
  }

  async function remove(id: string, schedule: string): Promise<void> {
    if (await removeFinished(settings, id, schedule)) await onRemoved(id, schedule);
  }

  async function write(id: string, scheduledAt: number): Promise<void> {
    const note = { actor: 'scheduler', quiet: true };
    const lastFired = new Date(scheduledAt).toISOString();
    await editRecord(settings, id, (text) => withField(text, 'lastFired', lastFired), note);
  }

  return { fired, finished, release, close };
}

export type FireCompletion = ReturnType<typeof createFireCompletion>;

/** Removes the file of a one-shot, unless it was given another time meanwhile; returns whether it did. */
export async function removeFinished(
  { folder, controlPlane }: Pick<AfterFireSettings, 'folder' | 'controlPlane'>,
  id: string,
  schedule: string | undefined,
): Promise<boolean> {
  return await retryOvertaken(async () => {
    // The folder may not have seen an edit yet.
    const text = folder.text(id) ?? null;
    const standing = scheduleIn(text ?? '', folder.path(id), id);
    if (schedule !== undefined && standing !== undefined && standing !== schedule) return false;
    await controlPlane.remove('cron', id, { actor: 'scheduler', reason: 'it fired', quiet: true }, text);
    folder.refresh(id);
    return true;
  });
}

/** Undefined when the text is not valid. */
function scheduleIn(text: string, path: string, id: string): string | undefined {
  try {
    return readRecord(text, path, id).schedule;
  } catch {
    return undefined;
  }
}
