import { hash } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Step, StepConflictError, type StepLog } from '@trunkline/loop';

export interface StepStore extends StepLog {
  /** Removes the steps of a turn that ended well, once nobody can be given its request again. */
  forgetLater(turn: string): void;
  close(): void;
}

/** As long as flows are kept. */
const keptMs = 7 * 24 * 60 * 60 * 1000;
/** A batch of steps; see the limit in the loop. */
const longest = 300_000;
/** A crash right after the end has the request delivered again, perhaps elsewhere: its steps must still be there. */
const forgetAfterMs = 5 * 60 * 1000;
const lookEveryMs = 30_000;
/** More turns than this leave their steps to their time limit. */
const mostEnded = 10_000;

interface EndedTurn {
  turn: string;
  endedAt: number;
}

/** Steps of agents' turns in a memory of the bus, so that any switchboard that shares it can go on with them. */
export function createStepStore(bus: Bus, logger: Logger): StepStore {
  let opening: Promise<Memory> | undefined;
  const memory = () => {
    opening ??= bus.memory('steps', { ttlMs: keptMs, longest }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  const ended: EndedTurn[] = [];
  const forgetEnded = async () => {
    while (ended[0] !== undefined && Date.now() - ended[0].endedAt > forgetAfterMs) {
      const { turn } = ended[0];
      await forget(await memory(), turn);
      ended.shift();
    }
  };
  const timer = setInterval(() => {
    forgetEnded().catch((err: unknown) => logger.warn({ err }, 'failed to remove steps of ended turns'));
  }, lookEveryMs);
  timer.unref();
  return {
    async read(turn) {
      return (await batchesOf(await memory(), turn)).flat();
    },
    async append(turn, position, steps) {
      const value = JSON.stringify(steps);
      const stored = await (await memory()).keep(keyOf(turn, position), value);
      if (stored !== value)
        throw new StepConflictError(`Another switchboard has stored steps of the work ${turn}.`);
    },
    forgetLater(turn) {
      if (ended.length < mostEnded) ended.push({ turn, endedAt: Date.now() });
    },
    close: () => clearInterval(timer),
  };
}

async function batchesOf(memory: Memory, turn: string): Promise<Step[][]> {
  const batches: Step[][] = [];
  for (let position = 0; ; ) {
    const value = await memory.recall(keyOf(turn, position));
    if (value === undefined) return batches;
    const steps = JSON.parse(value) as Step[];
    batches.push(steps);
    position += steps.length;
  }
}

/** From the last batch to the first: what a crash leaves behind is still whole. */
async function forget(memory: Memory, turn: string): Promise<void> {
  const batches = await batchesOf(memory, turn);
  let position = batches.flat().length;
  for (const batch of batches.reverse()) {
    position -= batch.length;
    await memory.forget(keyOf(turn, position));
  }
}

/** Ids of turns are those of messages, which may be any text. */
function keyOf(turn: string, position: number): string {
  return `${hash('sha256', turn)}-${position}`;
}
