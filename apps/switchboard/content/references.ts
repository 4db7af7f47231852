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

/** What later turns of a conversation know of a file that came with an earlier message. */
export function mentionOf({ id, name, mediaType }: StoredFile): string {
  return `[With this message came ${name} (${mediaType}, id ${id}), which is not shown again. For a day read_attachment reads its text, if you have it; else ask for the file again.]`;
}

/** Said where files come with the answer to a question and whoever asked cannot read them. */
const noFiles = '[Files that come with an answer are not read: send them with a message of their own.]';

/** What an agent that has asked learns of a file of the answer; one of this process gets the file too. */
function answerFileOf({ id, name, mediaType }: StoredFile): string {
  return `[With the answer came ${name} (${mediaType}, id ${id}). For a day read_attachment reads its text, if you have it.]`;
}

/** The files of the person that an answer names. Whoever reads one checks whose it is: anybody can write such a line. */
export function filesOfAnswer(answer: string): string[] {
  const named = answer.matchAll(/^\[With the answer came .* \([^()]*, id ([\w-]{1,64})\)\. /gm);
  return [...named].flatMap(([, id = '']) => id).slice(0, mostAnswerFiles);
}

const mostAnswerFiles = 20;

/** The answer with the files that came with it, where the agent works on behalf of whoever sent them. */
export function answerWith(said: string, files: readonly StoredFile[], isTheirs: boolean): string {
  const told = isTheirs ? files.map(answerFileOf) : files.slice(0, 1).map(() => noFiles);
  return [said, ...told].filter((line) => line !== '').join('\n');
}

/** Names files where only text goes. */
export function namesOf(files: readonly { name?: string | undefined }[]): string {
  return files.map(({ name = 'file' }) => name).join(', ');
}
