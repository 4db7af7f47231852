import { errorMessage } from '@trunkline/std';
import type { AttachedFile, ToolContext } from './tool.ts';

/** Hands the files of a result to the person and to the model. Gives what is in documents, and what became of each file. */
export async function handOnFiles(
  files: readonly AttachedFile[],
  { attach, addOrigins, signal }: Pick<ToolContext, 'attach' | 'addOrigins' | 'signal'>,
): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, mediaType, bytes } of files)
    if (attach === undefined)
      notes.push(`(${name}, ${mediaType}, was left out: files cannot be handed on here. Say so.)`);
    else
      try {
        const read = await attach({ name, mediaType, bytes, isShown: true });
        notes.push(`(The person was given ${name}.)`);
        if (read === undefined) continue;
        notes.push(read);
        // Also of somebody who is trusted: they may not have written their files.
        addOrigins?.([{ kind: 'file', source: name }]);
      } catch (error) {
        signal.throwIfAborted();
        notes.push(`(${name} could not be handed on: ${errorMessage(error)})`);
      }
  return notes;
}

/** A media type without parameters: they would go on to whoever gets the file. */
export function plainMediaType(given = ''): string {
  return /^[a-z]+\/[a-z0-9.+-]+/i.exec(given)?.[0].toLowerCase() ?? 'application/octet-stream';
}
