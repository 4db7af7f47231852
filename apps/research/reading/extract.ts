import { errorMessage } from '@trunkline/std';
import { type Extracted, ExtractionError, type Raw } from './extracted.ts';
import { extractHtml, tidy, toMarkdown } from './html.ts';
import { openWordArchive } from './word-archive.ts';

const SNIFFED_BYTES = 1024;

const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|csv|x-ndjson)$/;

/** The text of a page or file by its type. Heavy readers are loaded when the first of their kind comes. */
export async function extract(raw: Raw): Promise<Extracted> {
  const { type, bytes, name } = raw;
  if (type === 'application/pdf' || startsWith(bytes, '%PDF-')) return await extractPdf(bytes, name);
  if (type === WORD) return await extractWord(bytes, name);
  const text = raw.text ?? decodeFile(bytes, type);
  if (type === 'text/html' || type === 'application/xhtml+xml') return extractHtml(text, name);
  if (!TEXTUAL.test(type)) throw new ExtractionError(`holds ${type || 'binary data'}, which is not text`);
  const plain = tidy(text);
  if (plain === '') throw new ExtractionError('is empty');
  return { title: headingOf(plain) ?? name, text: plain };
}

async function extractPdf(bytes: Uint8Array, name: string): Promise<Extracted> {
  const { extractText, getDocumentProxy, getMeta } = await import('unpdf');
  try {
    const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
    const { text } = await extractText(document);
    const { info } = await getMeta(document);
    const plain = tidy(
      text
        .map((page) => page.trim())
        .filter(Boolean)
        .join('\n\n'),
    );
    if (plain === '') throw new ExtractionError('is a PDF without text, as scans are');
    const title = typeof info?.Title === 'string' && info.Title.trim() !== '' ? info.Title.trim() : name;
    return { title, text: plain };
  } catch (error) {
    if (error instanceof ExtractionError) throw error;
    throw new ExtractionError(`is a PDF that cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

async function extractWord(bytes: Uint8Array, name: string): Promise<Extracted> {
  const { default: mammoth } = await import('mammoth');
  try {
    // Pictures are not read, and neither unpacked.
    const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
    const { value } = await mammoth.convertToHtml({ file: openWordArchive(bytes) } as never, {
      convertImage,
    });
    const text = toMarkdown(value);
    if (text === '') throw new ExtractionError('is a document without text');
    return { title: headingOf(text) ?? name, text };
  } catch (error) {
    if (error instanceof ExtractionError) throw error;
    throw new ExtractionError(
      'is no Word document that can be read. Open it in a word processor and save it again as .docx',
      { cause: error },
    );
  }
}

function headingOf(text: string): string | undefined {
  return /^#{1,2}\s+(.{1,200})$/m.exec(text)?.[1]?.trim();
}

function startsWith(bytes: Uint8Array, opening: string): boolean {
  return Buffer.from(bytes.subarray(0, opening.length)).toString('latin1') === opening;
}

/** The text of a file: by its byte order mark, the meta element of a page, as UTF-8, or as what Windows wrote before that. */
function decodeFile(bytes: Uint8Array, type: string): string {
  const label = markedCharset(bytes) ?? (type === 'text/html' ? declaredCharset(bytes) : undefined);
  if (label !== undefined) return new TextDecoder(label).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

function markedCharset([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function declaredCharset(bytes: Uint8Array): string | undefined {
  const opening = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const label = /<meta[^>]*charset\s*=\s*["']?([\w.:-]+)/i.exec(opening)?.[1];
  return label !== undefined && isKnown(label) ? label : undefined;
}

function isKnown(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
