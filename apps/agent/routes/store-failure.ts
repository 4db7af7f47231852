import { HttpError } from '@trunkline/http';
import { ScheduleError } from '@trunkline/schedule';
import { StoreError } from '../stores/store-error.ts';

const statuses: Record<StoreError['code'], number> = {
  conflict: 409,
  invalid: 400,
  not_found: 404,
  not_shared: 403,
};

/** Gives what the work gives; a refusal of a store or of the scheduler becomes the answer that says so. */
export async function fromStore<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ScheduleError) throw new HttpError(error.code, 400, error.message, { cause: error });
    if (!(error instanceof StoreError)) throw error;
    throw new HttpError(error.code, statuses[error.code], error.message, { cause: error });
  }
}
