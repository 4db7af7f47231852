import type { Effect, Tool } from '@trunkline/llm';
import type { ModelMessage } from 'ai';
import { quote } from './grants.ts';
import type { RequestedCall } from './model-step.ts';

/** The same call may fail this often; after that it is not run again. */
const mostFailures = 2;

/** The same call may give the same result, or change something, this often; after that it is not run again. */
const mostRepeats = 3;

/** The same call that may change something, though it also looks, may be run this often with nothing changed in between. */
const mostInRow = 8;

/** A model that asks for a refused call this often is stuck. */
const mostRefusals = 2;

interface Seen {
  result: string;
  /** How often the call has given this result in a row; of one that changes something, how often it was run. */
  count: number;
  refused: number;
  changes: boolean;
}

/**
 * The calls of a turn, to stop a model that makes the same one for ever. One that looks at something goes on while its
 * results change; one that only changes something does not: a new task has a new number each time.
 */
export class RepeatedCalls {
  readonly #seen = new Map<string, Seen>();
  readonly #failures = new Map<string, string[]>();
  /** How often each call has begun within the answer under way: none has a result while the others begin. */
  readonly #begun = new Map<string, number>();
  /** The last call that may have changed something, and how often it was run since another one was. */
  #row = { key: '', count: 0 };
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
    if (effects.some((effect) => effect !== 'reads'))
      this.#row = { key, count: this.#row.key === key ? this.#row.count + 1 : 1 };
    const before = this.#seen.get(key);
    const changes = changesSomething(effects);
    const isSame = before !== undefined && (changes || before.result === result);
    this.#seen.set(key, { result, count: isSame ? before.count + 1 : 1, refused: 0, changes });
  }

  /** Why the call is not run again; undefined where it may run. */
  refuse(call: RequestedCall): string | undefined {
    const { name } = call;
    const key = keyOf(call);
    const failures = this.#failures.get(key) ?? [];
    if (failures.length >= mostFailures)
      return `this call of ${name} with the same arguments has failed ${failures.length} times and was not run again; the last time: ${quote(failures.at(-1) ?? '')} Change the arguments or do without.`;
    const seen = this.#seen.get(key);
    const inRow = this.#row.key === key ? this.#row.count : 0;
    if (seen !== undefined && (seen.count >= mostRepeats || inRow >= mostInRow)) {
      seen.refused += 1;
      if (seen.refused >= mostRefusals) this.stuckOn = name;
      const isSame = seen.count >= mostRepeats;
      const what = isSame && !seen.changes ? 'has given the same result' : 'was run';
      const count = isSame ? seen.count : inRow;
      return `this call of ${name} with the same arguments ${what} ${count} times and was not run again. Use the result that you have: answer now, or do something else.`;
    }
    const begun = this.#begun.get(key) ?? 0;
    const isFull = begun + (seen?.count ?? 0) >= mostRepeats || begun + inRow >= mostInRow;
    if (begun === 0 || !isFull) return undefined;
    return `the same call of ${name} with the same arguments stands more than once in this answer, and this one was not run. Use the results of the others.`;
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
function changesSomething(effects: readonly Effect[]): boolean {
  return effects.length > 0 && effects.every((effect) => changing.includes(effect));
}

function keyOf({ name, input }: RequestedCall): string {
  return `${name} ${JSON.stringify(input)}`;
}
