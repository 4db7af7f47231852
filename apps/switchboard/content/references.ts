import type { StoredFile } from '@trunkline/loop';
import { z } from 'zod';

/** A file that came with a message, before its bytes are fetched. */
export interface FileSource {
  name: string;
  /** As the sender declares it; may be empty. */
  mediaType: string;
  /** Bytes, where the surface says so. */
  size?: number | undefined;
  read(signal: AbortSignal): Promise<Uint8Array>;
}

/** The text of a message that has files alone. */
export const filesAlone = 'Look at what I attached.';

const reference = z.object({
  id: z.string().max(64),
  name: z.string().max(300),
  mediaType: z.string().max(200),
  size: z.number(),
});

/** The files that the payload of a message names; whoever reads one checks whose it is. */
export function filesOf(payload: unknown): StoredFile[] {
  const { files } = (payload ?? {}) as { files?: unknown };
  if (!Array.isArray(files)) return [];
  return files.flatMap((file) => {
    const parsed = reference.safeParse(file);
    return parsed.success ? [parsed.data] : [];
  });
}
