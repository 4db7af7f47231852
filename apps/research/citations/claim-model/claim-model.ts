import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ParserError, ParserPool } from '@trunkline/documents';
import { errorMessage } from '@trunkline/std';

/** A claim, and what its page says nearest to it, with the title in front. */
export interface ClaimPair {
  claim: string;
  passage: string;
}

/** How likely the passage bears the claim out, says otherwise, or does not say; together 1. */
export interface ClaimOpinion {
  yes: number;
  no: number;
  unsaid: number;
}

export interface ClaimTask {
  folder: string;
  /** The file of the vocabulary there, one piece a line. */
  vocabulary: string;
  pairs: readonly ClaimPair[];
}

interface ClaimModelOptions {
  /** Where the weights lie. */
  folder?: string;
  /** False where the operator does not want it. */
  isOn?: boolean;
  logger?: { warn(fields: object, message: string): void };
}

const FOLDER = join(import.meta.dirname, '../../models/claim-judge');
const VOCABULARY = 'vocabulary.txt';
/** Pairs that one task judges: about half a second of one core. */
const BATCH = 16;
const IDLE_MS = 120_000;
const TIMEOUT_MS = 60_000;

/**
 * The built-in model that says whether a passage bears out a claim. It reads English alone. Its process starts with the
 * first claim and ends when it has had nothing to do for two minutes.
 */
export class ClaimModel {
  readonly #folder: string;
  readonly #pool: ParserPool<ClaimTask, ClaimOpinion[]>;
  readonly #logger: ClaimModelOptions['logger'];
  readonly #isThere: boolean;

  constructor({ folder = FOLDER, isOn = true, logger }: ClaimModelOptions = {}) {
    this.#folder = folder;
    this.#logger = logger;
    this.#isThere = isOn && existsSync(join(folder, VOCABULARY));
    const script = new URL('./claim-worker.ts', import.meta.url);
    this.#pool = new ParserPool({ script, threads: 1, timeoutMs: TIMEOUT_MS, idleMs: IDLE_MS, native: true });
  }

  /** An opinion on each pair, in their order; undefined where the model is not installed or failed. */
  async judge(pairs: readonly ClaimPair[], signal?: AbortSignal): Promise<(ClaimOpinion | undefined)[]> {
    const opinions: (ClaimOpinion | undefined)[] = [];
    for (let from = 0; from < pairs.length; from += BATCH) {
      const some = pairs.slice(from, from + BATCH);
      const given = this.#isThere ? await this.#judgeSome(some, signal) : [];
      opinions.push(...some.map((_, index) => given[index]));
    }
    return opinions;
  }

  async #judgeSome(pairs: readonly ClaimPair[], signal: AbortSignal | undefined): Promise<ClaimOpinion[]> {
    try {
      return await this.#pool.run({ folder: this.#folder, vocabulary: VOCABULARY, pairs }, { signal });
    } catch (error) {
      if (!(error instanceof ParserError)) throw error;
      this.#logger?.warn(
        { reason: errorMessage(error) },
        'failed to run the built-in claim model; run "npm ci" without --omit=optional if onnxruntime-node is missing',
      );
      return [];
    }
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }
}
