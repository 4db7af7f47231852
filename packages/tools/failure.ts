import { errorMessage } from '@trunkline/std';

/** The result of a tool that failed. */
export function failure(error: unknown): string {
  return `Error: ${errorMessage(error, 'it failed without saying why')}`;
}

/** Runs the work of a tool; a failure becomes words that begin with `Error:`, unless the turn itself was stopped. */
export async function orRefusal(work: () => string | Promise<string>, signal?: AbortSignal): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw error;
    return failure(error);
  }
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

/** One line of at most that many characters. */
export function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
