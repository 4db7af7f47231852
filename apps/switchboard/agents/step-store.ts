import { hash } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import { type Step, StepConflictError, type StepLog, stepsBefore } from '@trunkline/loop';
import { ownerOfMessage } from '../core/messages.ts';
import type { Retry } from '../dispatch/executor.ts';

export interface StepStore extends StepLog {
  /** Removes what the steps of a turn that ended well say, once nobody can be given its request again. */
  forgetLater(turn: string): void;
  /** Says once that steps cannot be stored, and again after they could. */
  warn(error: unknown): void;
  /** Does what `forgetLater` put off, where its time has come. */
  forgetEnded(): Promise<void>;
  close(): void;
}

/** As long as flows are kept. */
const keptMs = 7 * 24 * 60 * 60 * 1000;
/** A batch of steps; see the limit in the loop. */
const longest = 300_000;
/** A crash right after the end has the request delivered again, perhaps elsewhere: its steps must still be there. */
const forgetAfterMs = 5 * 60 * 1000;
const lookEveryMs = 30_000;
/** In place of the steps of a turn that has ended, so that a process that stood still meanwhile does not go on with it. */
const endMark = '"ended"';
/** More turns than this leave their steps to their time limit. */
const mostEnded = 10_000;

interface EndedTurn {
  turn: string;
  endedAt: number;
}

/** Steps of agents' turns in a memory of the bus, so that any switchboard that shares it can go on with them. */
export function createStepStore(bus: Bus, logger: Logger, now: () => number = Date.now): StepStore {
  let opening: Promise<Memory> | undefined;
  const memory = () => {
    opening ??= bus.memory('steps', { ttlMs: keptMs, longest }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const ended: EndedTurn[] = [];
  let isForgetting = false;
  let isFailing = false;
  const forgetEnded = async () => {
    if (isForgetting) return;
    isForgetting = true;
    try {
      while (ended[0] !== undefined && now() - ended[0].endedAt > forgetAfterMs) {
        await forget(await memory(), ended[0].turn);
        ended.shift();
      }
    } catch (err) {
      logger.warn({ err }, 'failed to remove steps of ended turns');
    } finally {
      isForgetting = false;
    }
  };
  const timer = setInterval(() => void forgetEnded(), lookEveryMs).unref();
  return {
    async read(turn) {
      const batches = await batchesOf(await memory(), turn);
      if (batches === undefined) throw new StepConflictError('This work has ended, on another switchboard.');
      return batches.flat();
    },
    async append(turn, position, steps) {
      const value = JSON.stringify(steps);
      const stored = await (await memory()).keep(keyOf(turn, position), value);
      isFailing = false;
      if (stored !== value) throw new StepConflictError('Another switchboard has stored steps of this work.');
    },
    forgetLater(turn) {
      if (ended.length < mostEnded) ended.push({ turn, endedAt: now() });
    },
    warn(err) {
      if (!isFailing) logger.warn({ err }, 'failed to store steps of turns; a crash would begin them anew');
      isFailing = true;
    },
    forgetEnded,
    close: () => clearInterval(timer),
  };
}

/** Steps of an earlier run, unless whoever stored them is still at work. */
export function stepsUnlessElsewhere(steps: StepLog, isElsewhere?: () => Promise<boolean>): StepLog {
  return {
    append: (...given) => steps.append(...given),
    async read(turn) {
      const stored = await steps.read(turn);
      if (stored.length > 0 && (await isElsewhere?.()))
        throw new StepConflictError('Another switchboard is at work on this.');
      return stored;
    },
  };
}

/** Callers choose ids of messages: under the same one, another's work and that of another agent stay apart. */
export function turnOf(agent: string, { requestId, principal }: TurnOwner): string {
  return turnOfOwner(agent, requestId, ownerOfMessage({ principal }));
}

export function turnOfOwner(agent: string, requestId: string, owner: string): string {
  return JSON.stringify([requestId, agent, owner]);
}

interface TurnOwner {
  requestId: string;
  principal?: Principal | undefined;
}

/** What stands of earlier requests that are retried from a step on; undefined where that is not stored. */
export async function retriedSteps(
  steps: StepLog,
  retries: readonly Retry[],
  { agent, principal }: { agent: string; principal: Principal | undefined },
): Promise<readonly Step[] | undefined> {
  let past: readonly Step[] = [];
  for (const { requestId, toolCallId } of retries) {
    const own = await steps.read(turnOf(agent, { requestId, principal })).catch(nothingIfEnded);
    const before = stepsBefore([...past, ...own], toolCallId);
    if (before === undefined) return undefined;
    past = before;
  }
  return past;
}

function nothingIfEnded(error: unknown): readonly Step[] {
  if (error instanceof StepConflictError) return [];
  throw error;
}

export const stepsGone =
  'What was done before this step is no longer stored, the model has given several steps this id, or the step is not one of this agent itself: replay the whole flow. Steps are stored for seven days, and for five minutes after work that ended well.';

/** The steps of a turn behind those that it began with. */
export function stepsAfter(past: readonly Step[], steps: StepLog): StepLog {
  return {
    append: (turn, position, more) => steps.append(turn, position - past.length, more),
    read: async (turn) => [...past, ...(await steps.read(turn))],
  };
}

/** Undefined where the turn has ended and what it did is gone. */
async function batchesOf(memory: Memory, turn: string): Promise<Step[][] | undefined> {
  const batches: Step[][] = [];
  for (let position = 0; ; ) {
    const value = await memory.recall(keyOf(turn, position));
    if (value === undefined) return batches;
    if (value === endMark) return undefined;
    const steps = JSON.parse(value) as Step[];
    batches.push(steps);
    position += steps.length;
  }
}

/** From the first batch to the last: what a crash leaves behind cannot be gone on with, and its time limit removes it. */
async function forget(memory: Memory, turn: string): Promise<void> {
  let position = 0;
  for (const batch of (await batchesOf(memory, turn)) ?? []) {
    await memory.replace(keyOf(turn, position), endMark);
    position += batch.length;
  }
}

/** Ids of turns are those of messages, which may be any text. */
function keyOf(turn: string, position: number): string {
  return `${hash('sha256', turn)}-${position}`;
}
