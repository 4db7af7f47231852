import type { z } from 'zod';

/** The part of a schema's definition that leads further in. */
type Definition = {
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: readonly z.core.$ZodType[];
};

/** The keys that a schema knows at a path; none where that cannot be told. */
export function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const definition = schema._zod.def as Definition;
  const through = definition.innerType ?? definition.in;
  if (through !== undefined) return keysAt(through, path);
  if (definition.options !== undefined) return definition.options.flatMap((option) => keysAt(option, path));
  const [step, ...rest] = path;
  if (step === undefined) return Object.keys(definition.shape ?? {});
  const inner = definition.shape?.[String(step)] ?? definition.element ?? definition.valueType;
  return inner === undefined ? [] : keysAt(inner, rest);
}
