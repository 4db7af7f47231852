// Files as text: the model reads them below the message.
import type { Attachment } from './wire.ts';

/** Of a message, and of each file. */
export const MAX_CHARACTERS = 200_000;
export const MAX_FILES = 10;

/** Reads a text file; throws a message for the person when it is no text or too large. */
export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > MAX_CHARACTERS * 4) throw new Error(tooLong(file.name));
  const text = await file.text();
  if (text.includes('\0') || text.includes('\uFFFD')) {
    throw new Error(`${file.name} is not text. Attach text, such as Markdown, CSV, JSON or code.`);
  }
  if (text.length > MAX_CHARACTERS) throw new Error(tooLong(file.name));
  return { name: file.name, text };
}

function tooLong(name: string): string {
  return `${name} is too long. Attach files of at most ${MAX_CHARACTERS / 1000},000 characters.`;
}
