import { hash } from 'node:crypto';
import { isReadOnly, type RunningTool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { toPlainJson } from './checkpoint.ts';
import type { RequestedCall } from './model-step.ts';
import type {
  GapRecord,
  ModelRecord,
  Step,
  ToolEndRecord,
  ToolStartRecord,
  TurnStepOptions,
} from './options.ts';

/** A call that has run; it has not ended where it asks a person. */
interface EndedCall extends Pick<ToolEndRecord, 'result' | 'origins' | 'files' | 'attached'> {
  question?: unknown;
}

/** Another process has stored steps of the turn: it works on it, or has. */
export class StepConflictError extends Error {}

/** Nobody knows what an earlier run has done, so that to begin would be to do it twice. */
export class StepReadError extends Error {}

/** Whether the turn must be left as it is, for another process or another attempt. */
export function leavesTurn(error: unknown): boolean {
  return error instanceof StepConflictError || error instanceof StepReadError;
}

export class StepLogError extends Error {
  readonly code = 'steps-lost' as const;
}

/** The rule under which a person is asked about a call whose end is not known. */
export const interruptedRule = 'interrupted';

/** What a person is told about a call in doubt, and the model where nobody can be asked. */
export function doubtWords(name: string, doubt: 'unknown' | 'again'): { why: string; refusal: string } {
  if (doubt === 'again')
    return {
      why: `${name} ran before, in the work that is done again from here. If you say yes, it is done once more`,
      refusal: `${name} ran before, and nobody can be asked here whether it may be done once more, so it was not run again. Say so.`,
    };
  const begun = `${name} had begun when the service ended, and nobody knows whether it was done`;
  return {
    why: `${begun}. Look first; if you say yes, it is done now, perhaps a second time`,
    refusal: `${begun}, so it was not run again. Say so, and say how to find out.`,
  };
}

const mostBatches = 2000;
/** Characters of the steps that are stored at once; NATS takes messages of a megabyte. */
const longestBatch = 250_000;

/** The steps of one turn: those of an earlier run are replayed, new ones are stored. */
export class TurnSteps {
  readonly #options: TurnStepOptions;
  readonly #models: ModelRecord[] = [];
  readonly #started = new Map<string, ToolStartRecord>();
  readonly #ended = new Map<string, ToolEndRecord>();
  readonly #gap: GapRecord | undefined;
  #position = 0;
  #waiting: Step[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Nothing is stored any more: the steps were too many or too large, or the store failed. */
  #isClosed = false;
  /** The store failed, so that after a crash the turn would begin anew. */
  #isLost = false;

  private constructor(options: TurnStepOptions, past: readonly Step[]) {
    this.#options = options;
    this.#position = past.length;
    this.#gap = past.find((step) => step.kind === 'gap');
    for (const step of past) {
      if (step.kind === 'model') this.#models.push(step);
      if (step.kind === 'tool-start') this.#started.set(step.call, step);
      if (step.kind === 'tool-end') this.#ended.set(step.call, step);
    }
  }

  static async open(options: TurnStepOptions): Promise<TurnSteps> {
    return new TurnSteps(options, options.resumes ? await readSteps(options) : []);
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

  /** An earlier run has begun a call that may have had its effect: nobody knows, or the turn is run again from there. */
  doubtOf(call: string, tool: RunningTool): 'unknown' | 'again' | undefined {
    const started = this.#started.get(call);
    if (started === undefined || this.#ended.has(call) || isReadOnly(tool)) return undefined;
    // The call has another key than before, by which nobody knows it again.
    if (started.again) return 'again';
    const { idempotent } = tool;
    if (started.once) return 'unknown';
    if (idempotent === true || idempotent === 'by-key') return undefined;
    const isKnownAgain = typeof idempotent === 'object' && Date.now() - started.at <= idempotent.withinMs;
    return isKnownAgain ? undefined : 'unknown';
  }

  /**
   * An answer with tool calls is stored together with the first of them. One without ends the turn: it is stored where
   * the turn has used tools; of any other turn the answer that goes out is the record.
   */
  async model(record: Omit<ModelRecord, 'kind' | 'at'>): Promise<void> {
    this.#waiting.push(toPlainJson({ kind: 'model', at: Date.now(), ...record }));
    if (record.calls.length === 0 && this.#position > 0) await this.flush();
  }

  /** Returns whether the call may begin: one that must not be made twice needs a record that it has. */
  async toolStart(call: string, tool: RunningTool, isOnce = false): Promise<boolean> {
    const start = { kind: 'tool-start', at: Date.now(), call, name: tool.name } as const;
    if (isOnce) this.#waiting.push({ ...start, once: true });
    else if (!isRepeatable(tool)) this.#waiting.push(start);
    await this.flush();
    // Without a record the model is asked again after a crash, and names its calls anew: no key is the same.
    return !this.#isLost || (!isOnce && isSafeByNature(tool));
  }

  async toolEnd(call: string, { name }: RunningTool, ran: EndedCall): Promise<void> {
    const { result, origins = [], files, attached, question } = ran;
    if (question !== undefined) return;
    const marks = {
      ...(origins.length > 0 && { origins }),
      ...(files && { files }),
      ...(attached && { attached }),
    };
    this.#waiting.push(toPlainJson({ kind: 'tool-end', at: Date.now(), call, name, result, ...marks }));
    await this.flush();
  }

  /** A name of a call for whoever can tell that it was made before; the same when the turn is run again. */
  keyOf(call: string): string {
    return hash('sha256', JSON.stringify([this.#options.turn, call])).slice(0, 32);
  }

  /** Stores what waits, one batch after the other. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** A store that fails does not end the work: tools may have had their effect, and the answer must still go out. */
  async #write(): Promise<void> {
    const steps = this.#waiting;
    this.#waiting = [];
    if (steps.length === 0 || this.#isClosed) return;
    const { log, turn, onProblem } = this.#options;
    const isTooLong = JSON.stringify(steps).length > longestBatch;
    this.#isClosed = isTooLong || this.#position >= mostBatches;
    const stored = this.#isClosed ? [gap()] : steps;
    try {
      await log.append(turn, this.#position, stored);
      this.#position += stored.length;
    } catch (error) {
      if (leavesTurn(error)) throw error;
      this.#isClosed = true;
      this.#isLost = true;
      onProblem?.(error);
    }
  }
}

/**
 * What stands of a turn that is run again from a call on: everything before that call. Calls from there on that had
 * begun are marked. Undefined where no answer of the model asked for the call, or several did: some endpoints number the
 * calls of each answer anew.
 */
export function stepsBefore(steps: readonly Step[], toolCallId: string): Step[] | undefined {
  const asks = (step: Step) =>
    step.kind === 'model' && step.calls.some((call) => call.toolCallId === toolCallId);
  const index = steps.findIndex(asks);
  const asked = steps[index];
  if (asked?.kind !== 'model' || steps.findLastIndex(asks) !== index) return undefined;
  const calls = numbered(asked.calls);
  const first = calls.findIndex((call) => call.toolCallId === toolCallId);
  const places = calls.map((call) => placeOf(asked.steps, call));
  const later = new Map<string, ToolStartRecord>();
  const kept = steps.slice(index + 1).filter((step) => {
    if (step.kind !== 'tool-start' && step.kind !== 'tool-end') return false;
    const order = places.indexOf(step.call);
    const { at, call, name } = step;
    if (order >= first) later.set(call, { kind: 'tool-start', at, call, name, again: true });
    return order >= 0 && order < first;
  });
  return [...steps.slice(0, index + 1), ...kept, ...later.values()];
}

/** Names a call within its turn: by the step of the model that asked for it, and its id. */
export function placeOf(step: number, { toolCallId, nth = 0 }: Pick<RequestedCall, 'toolCallId' | 'nth'>) {
  return `${step}:${toolCallId}${nth === 0 ? '' : `:${nth}`}`;
}

async function readSteps({ log, turn }: TurnStepOptions): Promise<readonly Step[]> {
  try {
    return await log.read(turn);
  } catch (cause) {
    if (leavesTurn(cause)) throw cause;
    const words = `The steps of this work before the restart could not be read: ${errorMessage(cause)}`;
    throw new StepReadError(words, { cause });
  }
}

/** Tells calls of one answer apart, whatever ids they have. */
export function numbered(calls: readonly RequestedCall[]): RequestedCall[] {
  return calls.map((call, index) => {
    const nth = calls.slice(0, index).filter(({ toolCallId }) => toolCallId === call.toolCallId).length;
    return nth === 0 ? call : { ...call, nth };
  });
}

/** A call that may be made twice: it changes nothing, or whoever carries it out knows it again. */
function isRepeatable(tool: RunningTool): boolean {
  return tool.idempotent === 'by-key' || isSafeByNature(tool);
}

function isSafeByNature(tool: RunningTool): boolean {
  return tool.idempotent === true || isReadOnly(tool);
}

function gap(): GapRecord {
  const why =
    'The service ended during this work, and the steps before were too many or too large to be stored, so it cannot go on. See what is done already, then ask for the rest.';
  return { kind: 'gap', at: Date.now(), why };
}
