import { z } from 'zod';
import type { LineMessage } from '../call/line.ts';

const label = 'rtvi-ai';
const schema = z.object({
  label: z.literal(label),
  type: z.string().min(1).max(100),
  id: z.union([z.string(), z.number().transform(String)]).optional(),
  data: z.unknown().optional(),
});

/** The message in an RTVI envelope; undefined where there is none. */
export function openEnvelope(text: string): LineMessage | undefined {
  try {
    const { type, id, data } = schema.parse(JSON.parse(text));
    return { type, ...(id !== undefined && { id }), ...(data !== undefined && { data }) };
  } catch {
    // The caller warns: what a page sends is not ours to mend.
    return undefined;
  }
}

export function sealEnvelope(message: LineMessage): string {
  return JSON.stringify({ label, ...message });
}
