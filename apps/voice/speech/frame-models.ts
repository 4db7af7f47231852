import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Mutex, QueueFullError } from '@trunkline/std';
import { emptyMemory, type SileroAnswer, type SileroRow, windowLength } from './activity/silero/model.ts';
import { type TurnSoFar, turnLanguages } from './ending/turn-model.ts';
import { frameLength } from './noise/rnnoise/model.ts';
import { SpeechError } from './speech-error.ts';
import type { WorkerHost } from './worker/host.ts';

/** Windows (three seconds) or frames (one second) of one caller that may wait. */
const maxWaiting = 100;

/** Tells speech from silence and noise; one per caller, as it remembers what it heard. */
export interface ActivityDetector {
  /** Takes 512 samples at 16 kHz (-1 to 1), gives the probability of speech. */
  accept(samples: Float32Array): Promise<number>;
  reset(): void;
  close(): Promise<void>;
}

/** Opens detectors whose work is done by one worker, for all callers at once. */
export function createDetectors(host: WorkerHost): () => ActivityDetector {
  const judge = createBatcher<SileroRow, SileroAnswer>(host);
  return () => openDetector(judge);
}

/** Below this a window holds no voice. */
const quietBelow = 0.3;
/** One second. */
const quietWindows = 31;

/**
 * Windows of one caller are judged in their order, each with the memory of the one before. The model forgets what it
 * remembers after a second of quiet: with the memory of earlier speech and of a long silence it takes 100 to 400 ms longer
 * to notice that somebody speaks.
 */
function openDetector(judge: (row: SileroRow) => Promise<SileroAnswer>): ActivityDetector {
  const frames = new Mutex({ maxWaiting });
  let memory = emptyMemory();
  let generation = 0;
  let quiet = 0;
  const accept = async (samples: Float32Array) => {
    const mine = generation;
    const { probability, memory: next } = await judge({ samples, memory });
    if (mine !== generation) return probability;
    quiet = probability < quietBelow ? quiet + 1 : 0;
    // The sound goes on without a break, so its last samples stay.
    memory = quiet === quietWindows ? { ...emptyMemory(), context: next.context } : next;
    quiet %= quietWindows;
    return probability;
  };
  return {
    async accept(samples) {
      if (samples.length !== windowLength)
        throw new RangeError(`voice activity is judged on ${windowLength} samples`);
      return inOrder(frames, () => accept(samples));
    },
    reset() {
      generation += 1;
      quiet = 0;
      memory = emptyMemory();
    },
    close: () => frames.idle(),
  };
}

/** Takes noise out of a voice; one per caller, as it remembers what it heard. */
export interface NoiseFilter {
  /** Takes 480 samples at 48 kHz (-1 to 1), gives as many. */
  accept(samples: Float32Array): Promise<Float32Array>;
  close(): Promise<void>;
}

/** A frame of a caller; one without samples ends what is remembered of the caller. */
export interface NoiseRow {
  caller: number;
  samples: Float32Array | undefined;
}

/** Opens filters whose work is done by one worker, for all callers at once. */
export function createNoiseFilters(host: WorkerHost): () => NoiseFilter {
  const filter = createBatcher<NoiseRow, Float32Array>(host);
  let callers = 0;
  return () => {
    callers += 1;
    return openFilter(callers, filter);
  };
}

function openFilter(caller: number, filter: (row: NoiseRow) => Promise<Float32Array>): NoiseFilter {
  const frames = new Mutex({ maxWaiting });
  return {
    async accept(samples) {
      if (samples.length !== frameLength) throw new RangeError(`noise is filtered in ${frameLength} samples`);
      return inOrder(frames, () => filter({ caller, samples }));
    },
    async close() {
      await frames.idle();
      await filter({ caller, samples: undefined });
    },
  };
}

/** A model that tells by the voice whether somebody has finished. */
export interface SmartTurn {
  /** Takes what was said so far at 16 kHz (-1 to 1), of which the last eight seconds count; gives the probability. */
  judge(samples: Float32Array, signal?: AbortSignal): Promise<number>;
}

export interface SmartTurnSettings {
  path: string;
}

/** The model does not come with the installation: its owner puts it into the directory under this name. */
export function smartTurnPath(directory: string): string | undefined {
  const path = join(directory, 'smart-turn.onnx');
  return existsSync(path) ? path : undefined;
}

export function createSmartTurn(host: WorkerHost): SmartTurn {
  return { judge: (samples, signal) => host.ask<number>(samples, { signal }) };
}

/** A model that tells by the words and by the voice whether somebody has finished. */
export interface TurnDetector {
  /** Takes what was said so far, gives the probability. */
  judge(turn: Omit<TurnSoFar, 'language'>, signal?: AbortSignal): Promise<number>;
}

/** A judgement takes a few milliseconds; one that takes this long comes too late. */
const turnTimeoutMs = 2000;

/** For one caller; undefined for a language that the model does not know. */
export function createTurnDetector(host: WorkerHost, language: string): TurnDetector | undefined {
  if (!turnLanguages.includes(language)) return undefined;
  return {
    async judge(turn, signal) {
      const work: TurnSoFar = { ...turn, language };
      const timeout = AbortSignal.timeout(turnTimeoutMs);
      const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      return host.ask<number>(work, { signal: either, urgent: true });
    },
  };
}

interface Waiting<Row, Answer> {
  row: Row;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Collects rows of many callers while the worker is busy, and sends them as one batch. */
function createBatcher<Row, Answer>(host: WorkerHost): (row: Row) => Promise<Answer> {
  const waiting: Waiting<Row, Answer>[] = [];
  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    while (waiting.length > 0) await answerAll(host, waiting.splice(0));
    working = false;
  };
  return (row) => {
    const answer = new Promise<Answer>((resolve, reject) => waiting.push({ row, resolve, reject }));
    void work();
    return answer;
  };
}

async function answerAll<Row, Answer>(
  host: WorkerHost,
  batch: readonly Waiting<Row, Answer>[],
): Promise<void> {
  try {
    const answers = await host.ask<Answer[]>(batch.map(({ row }) => row));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const answer = answers[index];
      if (answer === undefined) reject(new SpeechError('crashed', 'the worker left out an answer'));
      else resolve(answer);
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

/** Processes the frames of one caller in order; if too many wait, rejects with `busy`. */
async function inOrder<Value>(frames: Mutex, work: () => Promise<Value>): Promise<Value> {
  try {
    return await frames.run(work);
  } catch (error) {
    if (!(error instanceof QueueFullError)) throw error;
    throw new SpeechError('busy', 'this machine cannot keep up with the caller', { cause: error });
  }
}
