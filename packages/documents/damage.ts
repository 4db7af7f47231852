// What is wrong with a document that cannot be read, in words that say what to do.
import { ExtractionError } from './document.ts';

export const PROTECTED =
  'is protected with a password. Open it with the password, save it without one, and give that';
const GET_AGAIN = 'Get it again, or open it in the program it was written with and save it again';

/** Refuses what other programs write under the names and types of documents that are read. */
export function refuseOtherKinds(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.subarray(0, 5).toString('latin1') === '{\\rtf')
    throw new ExtractionError('is a rich text file (.rtf), which is not read. Save it as .docx or .pdf');
  if (!file.subarray(0, COMPOUND.length).equals(COMPOUND)) return;
  // Office packs what has a password into a file of the old form.
  if (file.includes(ENCRYPTED_PACKAGE)) throw new ExtractionError(PROTECTED);
  throw new ExtractionError(
    'is in an old format of Office (.doc, .xls, .ppt), which is not read. Save it as .docx, .xlsx or .pdf',
  );
}

const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage', 'utf16le');

/** Control characters, beyond this share of the beginning, are none of a text. */
const MOST_CONTROLS = 0.05;
const FEW_CONTROLS = 4;
const BEGINNING = 4096;

export function refuseBinary(text: string): void {
  const beginning = text.slice(0, BEGINNING);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
  const controls = beginning.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd]/g)?.length ?? 0;
  if (controls > Math.max(FEW_CONTROLS, beginning.length * MOST_CONTROLS))
    throw new ExtractionError(`holds binary data, which is not text. ${GET_AGAIN}`);
}

/** Its words end with "save it again", so that who knows the ending of the file can say as what. */
export class DamagedError extends ExtractionError {}

export function damaged(what: string, cause?: unknown): DamagedError {
  return new DamagedError(`is damaged: ${what}. ${GET_AGAIN}`, { cause });
}

export function cutOff(): DamagedError {
  return new DamagedError(`is cut off: its end is missing. ${GET_AGAIN}`);
}

/** Elements within each other; more of them are written to keep a reader busy. */
const DEEPEST = 5000;

/** The markup of a part, in UTF-8 or UTF-16. Refuses one that has no end, or elements too deep in each other. */
export function markupOf(bytes: Uint8Array, name: string): string {
  const [first, second] = bytes;
  const label =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  const text = new TextDecoder(label).decode(bytes);
  const part = `its part ${name}`;
  if (text.trim() === '') throw damaged(`${part} is empty`);
  if (!/^\s*</.test(text)) throw damaged(`${part} holds something else`);
  const end = text
    .slice(-LONGEST_END)
    .replace(/<!--[\s\S]*?-->/g, '')
    .trimEnd();
  // Before a tag is looked for: without its end each beginning would be read to the end of the text.
  if (!end.endsWith('>')) throw damaged(`${part} ends in the middle`);
  const [opening = '', tag = ''] = /<([\p{L}_][\p{L}\p{N}_.:-]*)[^>]*>/u.exec(text) ?? [];
  const isWhole = opening.endsWith('/>') || end.slice(0, -1).trimEnd().endsWith(`</${tag}`);
  if (tag === '' || !isWhole) throw damaged(`${part} ends in the middle`);
  if (/^html$/i.test(tag)) throw damaged(`${part} holds a web page`);
  if (depthOf(text) > DEEPEST) throw damaged(`${part} has elements more than ${DEEPEST} deep in each other`);
  return text;
}

const LONGEST_END = 2000;

/** At most; a ">" in an attribute makes it one deeper at times. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  let end = text.indexOf('>');
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at + 1)) {
    const next = text[at + 1];
    if (next === '/') depth -= 1;
    else if (next !== '!' && next !== '?') {
      // What was found counts for all that begins before it: a text of "<" alone is read once.
      if (end !== -1 && end < at) end = text.indexOf('>', at);
      if (text[end - 1] !== '/') depth += 1;
      if (depth > deepest) deepest = depth;
    }
  }
  return deepest;
}
