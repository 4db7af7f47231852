import { createHash } from 'node:crypto';
import { isReadOnly, type RunningTool } from '@trunkline/llm';
import { toPlainJson } from './checkpoint.ts';
import type { GapRecord, ModelRecord, Step, ToolEndRecord, TurnStepOptions } from './options.ts';

/** A call that has run; it has not ended where it asks a person. */
interface EndedCall extends Pick<ToolEndRecord, 'result' | 'origins' | 'files'> {
  question?: unknown;
}

/** Another process has stored steps of the turn: it works on it, or has. */
export class StepConflictError extends Error {}

export class StepLogError extends Error {
  readonly code = 'steps-lost' as const;
}

/** The rule under which a person is asked about a call whose end is not known. */
export const interruptedRule = 'interrupted';

const mostBatches = 2000;
/** Characters of the steps that are stored at once; NATS takes messages of a megabyte. */
const longestBatch = 250_000;

/** The steps of one turn: those of an earlier run are replayed, new ones are stored. */
export class TurnSteps {
  readonly #options: TurnStepOptions;
  readonly #models: ModelRecord[] = [];
  /** When each call began. */
  readonly #started = new Map<string, number>();
  readonly #ended = new Map<string, ToolEndRecord>();
  readonly #gap: GapRecord | undefined;
  #position = 0;
  #waiting: Step[] = [];
  #writing: Promise<void> = Promise.resolve();
  #isFull = false;

  private constructor(options: TurnStepOptions, past: readonly Step[]) {
    this.#options = options;
    this.#position = past.length;
    this.#gap = past.find((step) => step.kind === 'gap');
    for (const step of past) {
      if (step.kind === 'model') this.#models.push(step);
      if (step.kind === 'tool-start') this.#started.set(step.call, step.at);
      if (step.kind === 'tool-end') this.#ended.set(step.call, step);
    }
  }

  static async open(options: TurnStepOptions): Promise<TurnSteps> {
    return new TurnSteps(options, options.resumes ? await options.log.read(options.turn) : []);
  }

  /** The next answer of the model that an earlier run got. */
  replayModel(): ModelRecord | undefined {
    const record = this.#models.shift();
    if (record === undefined && this.#gap !== undefined) throw new StepLogError(this.#gap.why);
    return record;
  }

  /** How an earlier run ended a call; undefined where it did not. */
  replayCall(call: string): ToolEndRecord | undefined {
    return this.#ended.get(call);
  }

  /** Whether an earlier run has begun a call that may have had its effect, and nobody knows. */
  isInDoubt(call: string, tool: RunningTool): boolean {
    const startedAt = this.#started.get(call);
    if (startedAt === undefined || this.#ended.has(call) || isRepeatable(tool)) return false;
    const { idempotent } = tool;
    return typeof idempotent !== 'object' || Date.now() - startedAt > idempotent.withinMs;
  }

  /**
   * An answer with tool calls is stored together with the first of them. One without ends the turn: it is stored where
   * the turn has used tools; of any other turn the answer that goes out is the record.
   */
  async model(record: Omit<ModelRecord, 'kind' | 'at'>): Promise<void> {
    this.#waiting.push(toPlainJson({ kind: 'model', at: Date.now(), ...record }));
    if (record.calls.length === 0 && this.#position > 0) await this.flush();
  }

  async toolStart(call: string, tool: RunningTool): Promise<void> {
    if (!isRepeatable(tool))
      this.#waiting.push({ kind: 'tool-start', at: Date.now(), call, name: tool.name });
    await this.flush();
  }

  async toolEnd(call: string, { name }: RunningTool, ran: EndedCall): Promise<void> {
    const { result, origins = [], files, question } = ran;
    if (question !== undefined) return;
    const marks = { ...(origins.length > 0 && { origins }), ...(files && { files }) };
    this.#waiting.push(toPlainJson({ kind: 'tool-end', at: Date.now(), call, name, result, ...marks }));
    await this.flush();
  }

  /** A name of a call for whoever can tell that it was made before; the same when the turn is run again. */
  keyOf(call: string): string {
    return createHash('sha256')
      .update(JSON.stringify([this.#options.turn, call]))
      .digest('hex')
      .slice(0, 32);
  }

  /** Stores what waits, one batch after the other. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const steps = this.#waiting;
    this.#waiting = [];
    if (steps.length === 0 || this.#isFull) return;
    const { log, turn } = this.#options;
    const isTooLong = JSON.stringify(steps).length > longestBatch;
    this.#isFull = isTooLong || this.#position >= mostBatches;
    const stored = this.#isFull ? [gap()] : steps;
    await log.append(turn, this.#position, stored);
    this.#position += stored.length;
  }
}

/** A call that may be made twice: it changes nothing, or whoever carries it out knows it again. */
function isRepeatable(tool: RunningTool): boolean {
  return tool.idempotent === true || isReadOnly(tool);
}

function gap(): GapRecord {
  const why =
    'The service ended during this work, and the steps before were too many or too large to be stored, so it cannot go on. See what is done already, then ask for the rest.';
  return { kind: 'gap', at: Date.now(), why };
}
