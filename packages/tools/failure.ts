import { errorMessage } from '@trunkline/std';
import { z } from 'zod';

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

/** The input of a tool that another program describes by a JSON schema. One that cannot be read lets any object through: that program checks it again anyway. */
export function inputOfJsonSchema(schema: object): z.ZodType<Record<string, unknown>> {
  const anything = z.record(z.string(), z.unknown());
  try {
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    return read.pipe(anything) as unknown as typeof anything;
  } catch (error) {
    if (error instanceof Error) return anything;
    throw error;
  }
}
