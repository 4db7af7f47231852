import { inflateRawSync } from 'node:zlib';
import { cutOff, damaged, markupOf, PROTECTED } from './damage.ts';
import { ExtractionError } from './document.ts';

interface Entry {
  method: number;
  isEncrypted: boolean;
  packedLength: number;
  /** Where its local header begins. */
  offset: number;
}

/** The parts of a packed document; mammoth asks for them in this form. */
export interface Archive {
  names(): string[];
  exists(name: string): boolean;
  read(name: string, encoding?: string): Promise<Uint8Array | string>;
}

const MEGABYTE = 1024 * 1024;
const MOST_BYTES = 64 * MEGABYTE;
const MOST_ENTRIES = 10_000;
const STORED = 0;
const DEFLATED = 8;

/** Opens the ZIP archive that an office document or a book is. What it claims of sizes is not believed: unpacking ends at the limit. */
export function openArchive(bytes: Uint8Array): Archive {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = entriesOf(file);
  let left = MOST_BYTES;
  return {
    names: () => [...entries.keys()],
    exists: (name) => entries.has(name),
    async read(name, encoding) {
      const entry = entries.get(name);
      if (entry === undefined) throw damaged(`it has no part ${name}`);
      if (entry.isEncrypted) throw new ExtractionError(PROTECTED);
      const content = unpack(packedBytes(file, entry), entry.method, left, name);
      left -= content.byteLength;
      if (encoding === undefined) return content;
      if (encoding === 'base64') return content.toString('base64');
      return encoding === 'utf-8' && MARKUP.test(name)
        ? markupOf(content, name)
        : new TextDecoder(encoding).decode(content);
    },
  };
}

/** Parts that are XML; chapters of books are often HTML as it comes. */
const MARKUP = /\.(?:xml|rels|opf)$/i;

function unpack(packed: Buffer, method: number, most: number, name: string): Buffer {
  if (method !== STORED && method !== DEFLATED)
    throw damaged(`its part ${name} is packed in a way that is not known`);
  if (most <= 0 || (method === STORED && packed.byteLength > most)) throw tooLarge();
  if (method === STORED) return packed;
  try {
    return inflateRawSync(packed, { maxOutputLength: most });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    throw isTooLarge ? tooLarge(error) : damaged(`its part ${name} cannot be unpacked`, error);
  }
}

function tooLarge(cause?: unknown): ExtractionError {
  return new ExtractionError(
    `unpacks to more than ${MOST_BYTES / MEGABYTE} MB of text and markup. Split it, or save it as plain text (.txt)`,
    { cause },
  );
}

const LOCAL_HEADER = 0x04034b50;

function packedBytes(file: Buffer, { offset, packedLength }: Entry): Buffer {
  if (offset + 30 > file.length || file.readUInt32LE(offset) !== LOCAL_HEADER)
    throw damaged('its parts are not where its list says');
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  return file.subarray(start, start + packedLength);
}

const CENTRAL_HEADER = 0x02014b50;

/** The entries of the central directory, by name. */
function entriesOf(file: Buffer): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  let at = directoryStart(file);
  while (at + 46 <= file.length && file.readUInt32LE(at) === CENTRAL_HEADER) {
    if (entries.size >= MOST_ENTRIES)
      throw new ExtractionError(
        `has more than ${MOST_ENTRIES} parts. Save it again without its pictures and attachments`,
      );
    const nameEnd = at + 46 + file.readUInt16LE(at + 28);
    const extraEnd = nameEnd + file.readUInt16LE(at + 30);
    const name = file.toString('utf8', at + 46, nameEnd);
    entries.set(name, entryAt(file, at, file.subarray(nameEnd, extraEnd)));
    at = extraEnd + file.readUInt16LE(at + 32);
  }
  return entries;
}

const IN_EXTRA = 0xffffffff;

function entryAt(file: Buffer, at: number, extra: Buffer): Entry {
  const [method, packedLength, length, offset] = [
    file.readUInt16LE(at + 10),
    file.readUInt32LE(at + 20),
    file.readUInt32LE(at + 24),
    file.readUInt32LE(at + 42),
  ];
  // Of the large form only the fields are there that the small one has no room for.
  const wide = wideFields(extra);
  if (length === IN_EXTRA) wide.shift();
  return {
    method,
    isEncrypted: (file.readUInt16LE(at + 8) & 1) === 1,
    packedLength: packedLength === IN_EXTRA ? (wide.shift() ?? 0) : packedLength,
    offset: offset === IN_EXTRA ? (wide.shift() ?? 0) : offset,
  };
}

const WIDE = 1;

function wideFields(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== WIDE) continue;
    const count = Math.floor(extra.readUInt16LE(at + 2) / 8);
    return Array.from({ length: count }, (_, index) => Number(extra.readBigUInt64LE(at + 4 + index * 8)));
  }
  return [];
}

const BEGINNING = Buffer.from('PK\x03\x04');
const DIRECTORY_END = Buffer.from('PK\x05\x06');

function directoryStart(file: Buffer): number {
  const end = file.lastIndexOf(DIRECTORY_END);
  const isBegun = file.subarray(0, 4).equals(BEGINNING);
  if (end === -1 || end + 22 > file.length) throw isBegun ? cutOff() : new Error('This is no archive.');
  return file.readUInt32LE(end + 12) === IN_EXTRA ? wideStart(file, end) : file.readUInt32LE(end + 16);
}

/** In the large form the end of the directory is led by a pointer to a longer one. */
function wideStart(file: Buffer, end: number): number {
  const longer = Number(file.readBigUInt64LE(end - 12));
  return Number(file.readBigUInt64LE(longer + 48));
}
