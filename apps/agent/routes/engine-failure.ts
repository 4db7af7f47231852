import { A2aError } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';

/** Gives what the work gives; a refusal of the task engine becomes the answer that says so. */
export async function fromEngine<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof A2aError)) throw error;
    throw new HttpError(error.reason.toLowerCase(), error.binding.status, error.message, { cause: error });
  }
}
