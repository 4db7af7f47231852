import { HttpError } from '@trunkline/http';

/** A refusal of the task engine, with the status that its REST form has. */
interface EngineRefusal extends Error {
  reason: string;
  binding: { status: number };
}

/** Gives what the work gives; a refusal of the task engine becomes the answer that says so. */
export async function fromEngine<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!isEngineRefusal(error)) throw error;
    throw new HttpError(error.reason.toLowerCase(), error.binding.status, error.message, { cause: error });
  }
}

export function isEngineRefusal(error: unknown): error is EngineRefusal {
  return error instanceof Error && error.name === 'A2aError';
}
