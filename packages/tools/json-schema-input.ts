import { z } from 'zod';

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
