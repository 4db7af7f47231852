import { documentTypes } from './read.ts';

/** A file as the agent uses it: shown or played to the model, or read as text. */
export type FileKind = 'image' | 'audio' | 'document' | 'text';

const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const audioTypes = ['audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac', 'audio/mp4'];
const readTypes = [...documentTypes.values()].filter((type) => !type.startsWith('image/'));

const otherNames: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'audio/mp3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/m4a': 'audio/mp4',
  'audio/x-m4a': 'audio/mp4',
  'application/csv': 'text/csv',
};

/** What the agent's card lists. */
export const inputModes: readonly string[] = [
  ...new Set([
    'text/plain',
    'text/*',
    'application/json',
    ...readTypes,
    ...imageTypes,
    ...audioTypes,
    ...Object.keys(otherNames),
  ]),
];

/** Types that say nothing about what a file holds. */
const vague = /^(?:|application\/(?:octet-stream|zip|x-zip-compressed|download))$/;
const textual = /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|x-ndjson|toml|sql|x-sh)$/;

/** Endings of text files that have no type of their own here. */
const textEndings =
  /\.(?:json|jsonl|ya?ml|xml|toml|ini|log|svg|ts|tsx|js|jsx|mjs|css|py|rb|go|rs|java|kt|c|h|cc|cpp|cs|php|sh|sql|tex|rst|ics|vcf|eml|diff|patch)$/i;

export interface Offered {
  /** At least the first kilobyte. */
  bytes: Uint8Array;
  /** As the sender declares it; empty where they do not. */
  mediaType: string;
  name: string;
}

/** What a file is by its bytes; a declared type counts where they do not contradict it. Throws words for the sender. */
export function classifyFile(offered: Offered): { kind: FileKind; mediaType: string } {
  const { bytes, name } = offered;
  const declared = plainType(offered.mediaType);
  const found = typeOfBytes(bytes);
  if (found !== undefined && found !== 'zip') return { kind: kindOfType(found), mediaType: found };
  const byName = documentTypes.get(/\.([a-z]{2,8})$/i.exec(name)?.[1]?.toLowerCase() ?? '');
  const claimed = vague.test(declared) ? (byName ?? declared) : declared;
  if (found === 'zip') {
    if (readTypes.includes(claimed) && !claimed.startsWith('text/'))
      return { kind: 'document', mediaType: claimed };
    throw new UnsupportedFile(
      `${name} is a ZIP archive (${declared || 'no type declared'}), which cannot be used`,
    );
  }
  if (imageTypes.includes(claimed) || audioTypes.includes(claimed) || isPacked(claimed))
    throw new UnsupportedFile(`${name} says that it is ${claimed}, but holds something else`);
  if (bytes.subarray(0, 8192).includes(0))
    throw new UnsupportedFile(`${name} holds ${declared || 'binary data'}, which cannot be used`);
  if (readTypes.includes(claimed) && claimed !== 'text/plain' && claimed !== 'text/markdown')
    return { kind: 'document', mediaType: claimed };
  if (textual.test(claimed)) return { kind: 'text', mediaType: claimed };
  if (vague.test(claimed) && (textEndings.test(name) || isUtf8(bytes)))
    return { kind: 'text', mediaType: 'text/plain' };
  throw new UnsupportedFile(`${name} holds ${claimed}, which cannot be used`);
}

/** A file that neither the model nor a reader takes. */
export class UnsupportedFile extends Error {
  constructor(problem: string) {
    super(
      `${problem}. Send pictures (PNG, JPEG, WebP, GIF), sound (WAV, MP3, OGG, FLAC, M4A), documents (PDF, .docx, .odt, .epub, .xlsx, .ods, HTML, CSV) or text.`,
    );
  }
}

function plainType(type: string): string {
  const plain = (type.split(';')[0] ?? '').trim().toLowerCase();
  return otherNames[plain] ?? plain;
}

function kindOfType(type: string): FileKind {
  if (type.startsWith('image/')) return 'image';
  return type.startsWith('audio/') ? 'audio' : 'document';
}

/** Office files are ZIP archives, and a PDF has its own first bytes. */
function isPacked(type: string): boolean {
  return readTypes.includes(type) && !type.startsWith('text/');
}

function typeOfBytes(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(head)) return 'image/gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WAVE') return 'audio/wav';
  if (head.startsWith('ID3') || /^\xff[\xf2\xf3\xfa\xfb]/.test(head)) return 'audio/mpeg';
  if (head.startsWith('OggS')) return 'audio/ogg';
  if (head.startsWith('fLaC')) return 'audio/flac';
  if (head.slice(4, 11) === 'ftypM4A') return 'audio/mp4';
  if (head.startsWith('%PDF-')) return 'application/pdf';
  return head.startsWith('PK\x03\x04') ? 'zip' : undefined;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    // A character may be cut where the first part of a file ends.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, 4096), { stream: true });
    return true;
  } catch {
    return false;
  }
}
