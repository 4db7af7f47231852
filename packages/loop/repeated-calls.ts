import type { Effect, Tool } from '@trunkline/llm';
import { canonicalJson } from '@trunkline/std';
import type { ModelMessage } from 'ai';
import { quote } from './grants.ts';
import type { RequestedCall } from './model-step.ts';

/** The same call may fail this often; after that it is not run again. */
const mostFailures = 2;

/** The same call may run this often with no new one in between, give the same result or change something; after that it is not run again. */
const mostRepeats = 3;

/** A model that asks for a refused call this often is stuck. */
const mostRefusals = 2;

interface Seen {
  runs: number;
  /** How often the call has given each result over the turn; where it only looks, the last one in a row. */
  results: Map<string, number>;
  refused: number;
  kind: Kind;
  /** Runs since a new call came in between, and how many new calls there had been by then. */
  inRow: { runs: number; newCalls: number };
}

/** Whether a call only looks, only changes something, or may do both. */
type Kind = 'looks' | 'changes' | 'both';

/**
 * The calls of a turn, to stop a model that makes the same one for ever: after three, whatever its results. One that
 * looks, or may do both, starts again when a call that was not made before comes in between and its result is a new one
 * (edit, test, edit, test); one that only changes something does not: a new task has a new number each time.
 */
export class RepeatedCalls {
  readonly #seen = new Map<string, Seen>();
  readonly #failures = new Map<string, string[]>();
  /** How often each call has begun within the answer under way: none has a result while the others begin. */
  readonly #begun = new Map<string, number>();
  /** Calls that were made for the first time: all, and those that may have changed something. */
  readonly #new = { all: 0, changing: 0 };
  /** The tool that the model does not let go of. */
  stuckOn: string | undefined;

  newAnswer(): void {
    this.#begun.clear();
  }

  begin(call: RequestedCall): void {
    const key = keyOf(call);
    this.#begun.set(key, (this.#begun.get(key) ?? 0) + 1);
  }

  record(
    call: RequestedCall,
    {
      result,
      failed,
      effects = [],
    }: { result: string; failed: boolean; effects?: readonly Effect[] | undefined },
  ): void {
    const key = keyOf(call);
    if (failed) {
      this.#failures.set(key, [...(this.#failures.get(key) ?? []), result]);
      return;
    }
    const kind = kindOf(effects);
    const before = this.#seen.get(key);
    if (before === undefined) {
      this.#new.all += 1;
      if (kind !== 'looks') this.#new.changing += 1;
    }
    const { runs, results } = before ?? { runs: 0, results: new Map<string, number>() };
    const count = results.get(result) ?? 0;
    if (kind === 'looks') results.clear();
    results.set(result, count + 1);
    const inRow = { runs: this.#inRow(before) + 1, newCalls: this.#newCalls(kind) };
    this.#seen.set(key, { runs: runs + 1, results, refused: 0, kind, inRow });
  }

  /** Why the call is not run again; undefined where it may run. */
  refuse(call: RequestedCall): string | undefined {
    const { name } = call;
    const key = keyOf(call);
    const failures = this.#failures.get(key) ?? [];
    if (failures.length >= mostFailures)
      return `this call of ${name} with the same arguments has failed ${failures.length} times and was not run again; the last time: ${quote(failures.at(-1) ?? '')} Change the arguments or do without.`;
    const seen = this.#seen.get(key);
    const same = repeatsOf(seen);
    const repeats = Math.max(same, this.#inRow(seen));
    if (seen !== undefined && repeats >= mostRepeats) {
      seen.refused += 1;
      if (seen.refused >= mostRefusals) this.stuckOn = name;
      const isSame = same >= mostRepeats && seen.kind !== 'changes';
      const what = isSame ? `has given the same result ${same}` : `was run ${seen.runs}`;
      return `this call of ${name} with the same arguments ${what} times and was not run again. Use the result that you have: answer now, or do something else.`;
    }
    const begun = this.#begun.get(key) ?? 0;
    if (begun === 0 || begun + repeats < mostRepeats) return undefined;
    return `the same call of ${name} with the same arguments stands more than once in this answer, and this one was not run. Use the results of the others.`;
  }

  #inRow(seen: Seen | undefined): number {
    if (seen === undefined || seen.inRow.newCalls !== this.#newCalls(seen.kind)) return 0;
    return seen.inRow.runs;
  }

  /** The new calls that give a reason to repeat one of this kind: what changes nothing is none for a command. */
  #newCalls(kind: Kind): number {
    return kind === 'looks' ? this.#new.all : this.#new.changing;
  }
}

/**
 * The calls since the person last spoke, for a turn that goes on after a pause. Failures do not count: a person may have
 * refused the call; nor do tools that a person answers.
 */
export function repeatedIn(
  messages: readonly ModelMessage[],
  tools: ReadonlyMap<string, Tool>,
): RepeatedCalls {
  const repeated = new RepeatedCalls();
  const open: RequestedCall[] = [];
  for (const { content } of messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)) {
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type === 'tool-call')
        open.push({ toolCallId: part.toolCallId, name: part.toolName, input: part.input });
      if (part.type !== 'tool-result' || part.output.type !== 'text') continue;
      const { value: result } = part.output;
      const at = open.findIndex(({ toolCallId }) => toolCallId === part.toolCallId);
      const [call] = at < 0 ? [] : open.splice(at, 1);
      const tool = tools.get(part.toolName);
      const isAnswered = tool === undefined || tool.pause || tool.pausesFor !== undefined;
      if (call === undefined || isAnswered || isFailure(result)) continue;
      repeated.record(call, { result, failed: false, effects: tool.effects });
    }
  }
  return repeated;
}

export function isFailure(result: string): boolean {
  return /^error:/i.test(result);
}

const changing: readonly Effect[] = ['writes', 'sends', 'spends', 'configures'];

/** A tool that also reads, or runs a program, may be asked again how something is going. */
function kindOf(effects: readonly Effect[]): Kind {
  if (effects.every((effect) => effect === 'reads')) return 'looks';
  return effects.every((effect) => changing.includes(effect)) ? 'changes' : 'both';
}

/** How often a call was repeated in vain. */
function repeatsOf(seen: Seen | undefined): number {
  if (seen === undefined) return 0;
  return seen.kind === 'changes' ? seen.runs : Math.max(...seen.results.values());
}

/** Models write the same arguments in any order. */
function keyOf({ name, input }: RequestedCall): string {
  return `${name} ${canonicalJson(input)}`;
}
