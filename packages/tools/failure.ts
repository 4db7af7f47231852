import { errorMessage } from '@trunkline/std';
/** The result of a tool that failed. */
export function failure(error: unknown): string {
  return `Error: ${errorMessage(error, 'it failed without saying why')}`;
}
