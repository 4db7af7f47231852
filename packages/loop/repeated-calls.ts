import { quote } from './grants.ts';
import type { RequestedCall } from './model-step.ts';

/** The same call may fail this often; after that it is not run again. */
const mostFailures = 2;

/** The same call may give the same result this often; after that it is not run again. */
const mostRepeats = 3;

/** A model that asks for a refused call this often is stuck. */
const mostRefusals = 2;

interface Seen {
  result: string;
  /** How often the call has given this result in a row. */
  count: number;
  refused: number;
}

/** The calls of a turn, to stop a model that makes the same one for ever. One whose results change goes on. */
export class RepeatedCalls {
  readonly #seen = new Map<string, Seen>();
  readonly #failures = new Map<string, string[]>();
  /** The tool that the model does not let go of. */
  stuckOn: string | undefined;

  record(call: RequestedCall, result: string, failed: boolean): void {
    const key = keyOf(call);
    if (failed) {
      this.#failures.set(key, [...(this.#failures.get(key) ?? []), result]);
      return;
    }
    const before = this.#seen.get(key);
    const count = before?.result === result ? before.count + 1 : 1;
    this.#seen.set(key, { result, count, refused: 0 });
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
    return `this call of ${name} with the same arguments has given the same result ${seen.count} times and was not run again. Use the result that you have: answer now, or do something else.`;
  }
}

function keyOf({ name, input }: RequestedCall): string {
  return `${name} ${JSON.stringify(input)}`;
}
