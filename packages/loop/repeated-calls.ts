import type { Effect } from '@trunkline/llm';
import { quote } from './grants.ts';
import type { RequestedCall } from './model-step.ts';

/** The same call may fail this often; after that it is not run again. */
const mostFailures = 2;

/** The same call may give the same result, or change something, this often; after that it is not run again. */
const mostRepeats = 3;

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
  /** The tool that the model does not let go of. */
  stuckOn: string | undefined;

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
    if (seen === undefined || seen.count < mostRepeats) return undefined;
    seen.refused += 1;
    if (seen.refused >= mostRefusals) this.stuckOn = name;
    const what = seen.changes ? 'was run' : 'has given the same result';
    return `this call of ${name} with the same arguments ${what} ${seen.count} times and was not run again. Use the result that you have: answer now, or do something else.`;
  }
}

const changing: readonly Effect[] = ['writes', 'sends', 'spends', 'configures'];

/** A tool that also reads, or runs a program, may be asked again how something is going. */
function changesSomething(effects: readonly Effect[]): boolean {
  return effects.length > 0 && effects.every((effect) => changing.includes(effect));
}

function keyOf({ name, input }: RequestedCall): string {
  return `${name} ${JSON.stringify(input)}`;
}
