import { decode } from './charset.ts';
import { DamagedError, refuseBinary, refuseOtherKinds } from './damage.ts';
import {
  assemble,
  type ExtractedDocument,
  ExtractionError,
  NEEDS_RECOGNITION,
  type Piece,
  plainDocument,
  type RawDocument,
} from './document.ts';
import { asSeen } from './invisible.ts';
import { markdownTables, separatedValues } from './table.ts';

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const OPEN = 'application/vnd.oasis.opendocument';

/** The types of files that can be read, by the ending of their names. */
export const documentTypes: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['txt', 'text/plain'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['pdf', 'application/pdf'],
  ['docx', `${OFFICE}.wordprocessingml.document`],
  ['odt', `${OPEN}.text`],
  ['epub', 'application/epub+zip'],
  ['xlsx', `${OFFICE}.spreadsheetml.sheet`],
  ['ods', `${OPEN}.spreadsheet`],
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
]);

const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|csv|x-ndjson)$/;
/** Types that say nothing, or that servers give to files they do not know. */
const VAGUE =
  /^(?:|application\/(?:octet-stream|zip|x-zip-compressed|download|force-download|vnd\.ms-excel))$/;

type Reader = (raw: RawDocument) => Promise<ExtractedDocument> | ExtractedDocument;

/** What reads each type. Heavy readers are loaded when the first of their kind comes. */
const readers = new Map<string, Reader>([
  ['text/html', readHtml],
  ['application/xhtml+xml', readHtml],
  ['application/pdf', readPdf],
  [
    typeOf('docx'),
    office('Word document', '.docx', async ({ bytes, name }) =>
      (await textDocuments()).extractWord(bytes, name),
    ),
  ],
  [
    typeOf('odt'),
    office('OpenDocument text', '.odt', async ({ bytes, name }) =>
      fromPieces(name, await (await textDocuments()).odtPieces(bytes)),
    ),
  ],
  [
    typeOf('epub'),
    office('EPUB book', '.epub', async ({ bytes, name }) => (await textDocuments()).extractEpub(bytes, name)),
  ],
  [
    typeOf('xlsx'),
    office('Excel workbook', '.xlsx', async ({ bytes, name }) =>
      fromPieces(name, await (await spreadsheets()).xlsxPieces(bytes)),
    ),
  ],
  [
    typeOf('ods'),
    office('OpenDocument spreadsheet', '.ods', async ({ bytes, name }) =>
      fromPieces(name, await (await spreadsheets()).odsPieces(bytes)),
    ),
  ],
  ['text/csv', (raw) => readValues(raw)],
  ['application/csv', (raw) => readValues(raw)],
  ['text/tab-separated-values', (raw) => readValues(raw, '\t')],
  ['image/png', readPicture],
  ['image/jpeg', readPicture],
  ['image/webp', readPicture],
]);

/** The text of a page or file by its type, or by its first bytes and name where the type says nothing. */
export async function extract(raw: RawDocument): Promise<ExtractedDocument> {
  return asSeen(await readAs(actualType(raw), raw));
}

async function readAs(type: string, raw: RawDocument): Promise<ExtractedDocument> {
  // A page without bytes is one without text.
  if (raw.bytes.byteLength === 0 && !type.includes('html')) throw new ExtractionError('is empty');
  refuseOtherKinds(raw.bytes);
  const read = readers.get(type);
  if (read !== undefined) return await read(raw);
  if (!TEXTUAL.test(type)) throw new ExtractionError(`holds ${type || 'binary data'}, which is not text`);
  const text = tidy(textOf(raw));
  if (text === '') throw new ExtractionError('is empty');
  return plainDocument(headingOf(text) ?? raw.name, text, raw.isCut !== true);
}

/** A page or a plain text: nothing that is packed, and so no larger than it looks. */
export function isLight(raw: RawDocument): boolean {
  const type = actualType(raw);
  return /^(?:text\/|application\/xhtml)/.test(type) || !readers.has(type);
}

function typeOf(ending: string): string {
  return documentTypes.get(ending) ?? '';
}

/** What the bytes are says more than what a server calls them, and that more than the ending of an address. */
function actualType({ bytes, type, name, address = '' }: RawDocument): string {
  const beginning = head(bytes);
  const sniffed = openings.find(([, opening]) => opening.test(beginning))?.[0];
  if (sniffed !== undefined) return sniffed;
  if (!TEXTUAL.test(type) && HTML.test(beginning)) return 'text/html';
  const byName = typeByEnding(address) ?? typeByEnding(name);
  if (startsWith(bytes, 'PK\x03\x04'))
    return packedType(bytes) ?? (readers.has(type) && !isLoose(type) ? type : (byName ?? type));
  if (readers.has(type) && !isLoose(type)) return type;
  if (VAGUE.test(type)) return byName ?? (type === '' && !beginning.includes('\0') ? 'text/html' : type);
  // Servers often send values as plain text.
  return type === 'text/plain' && (byName === 'text/csv' || byName === 'text/tab-separated-values')
    ? byName
    : type;
}

const HEAD = 1024;

function head(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, HEAD)).toString('latin1');
}

/** A page that asks to sign in comes under the type of the file that was asked for. */
const HTML = /^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html)[\s>]/i;
/** How files begin that servers send under other types. */
const openings: [string, RegExp][] = [
  ['application/pdf', /^%PDF-/],
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF.{4}WEBP/s],
];

/** Types that servers also give to other files. */
function isLoose(type: string): boolean {
  return type === 'text/html' || type === 'text/csv';
}

/** The query of an address is no part of its name. */
function typeByEnding(name: string): string | undefined {
  const path = URL.canParse(name) ? new URL(name).pathname : name;
  return documentTypes.get(/\.([a-z]{2,8})(?:[?#].*)?$/i.exec(path)?.[1]?.toLowerCase() ?? '');
}

/** The type of a ZIP archive: OpenDocument and EPUB begin with it; Office files name their parts by it. */
function packedType(bytes: Uint8Array): string | undefined {
  const opening = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const declared = /mimetype(application\/[\w.+-]+?)(?:PK|$)/.exec(opening)?.[1];
  if (declared !== undefined && readers.has(declared)) return declared;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (all.includes('word/document.xml')) return typeOf('docx');
  return all.includes('xl/workbook.xml') ? typeOf('xlsx') : undefined;
}

let htmlReader: Promise<typeof import('./html/html.ts')> | undefined;

async function readHtml({ bytes, charset, name, ...how }: RawDocument): Promise<ExtractedDocument> {
  // Node looks the module up at each import().
  htmlReader ??= import('./html/html.ts').catch((error: unknown) => {
    htmlReader = undefined;
    throw error;
  });
  const { extractHtml } = await htmlReader;
  return extractHtml(decode(bytes, charset), name, how);
}

function readValues({ bytes, charset, name, isCut }: RawDocument, separator?: string): ExtractedDocument {
  const rows = separatedValues(textOf({ bytes, charset }), separator);
  if (rows.length === 0) throw new ExtractionError('is empty');
  const pieces = markdownTables(rows).map((text) => ({ kind: 'table', region: 'main', text }) as const);
  const assembled = assemble(pieces);
  return { title: name, ...assembled, hidden: 0, isWhole: isCut !== true && assembled.isWhole };
}

function textOf({ bytes, charset }: Pick<RawDocument, 'bytes' | 'charset'>): string {
  const text = decode(bytes, charset);
  refuseBinary(text);
  return text;
}

async function readPdf(raw: RawDocument): Promise<ExtractedDocument> {
  const { extractPdf } = await import('./pdf.ts');
  if (raw.mayRecognise !== true) return await extractPdf(raw);
  return await extractPdf(raw, async () => await (await recognition(true)).openRecogniser());
}

async function readPicture({ bytes, name, mayRecognise }: RawDocument): Promise<ExtractedDocument> {
  const [{ recognisePicture }, { paragraphsOf }] = [
    await recognition(mayRecognise),
    await import('./pdf.ts'),
  ];
  const pieces = paragraphsOf(await recognisePicture(bytes));
  if (pieces.length === 0) throw new ExtractionError('is a picture without text that can be recognised');
  // Recognition misses and misreads words.
  return { title: name, ...assemble(pieces), hidden: 0, isWhole: false };
}

async function recognition(isAllowed: boolean | undefined) {
  if (isAllowed !== true) throw new ExtractionError(NEEDS_RECOGNITION);
  return await import('./ocr.ts');
}

const textDocuments = () => import('./office/text-documents.ts');
const spreadsheets = () => import('./office/spreadsheet.ts');

/** A reader of packed documents, whose failures say what the file should have been. */
function office(kind: string, ending: string, read: Reader): Reader {
  return async (raw) => {
    try {
      const document = await read(raw);
      return {
        ...document,
        title: document.title === raw.name ? (headingOf(document.text) ?? raw.name) : document.title,
      };
    } catch (error) {
      if (error instanceof DamagedError)
        throw new ExtractionError(`${error.message} as ${ending}`, { cause: error });
      if (error instanceof ExtractionError) throw error;
      throw new ExtractionError(
        `is no ${kind} that can be read. Open it in the program it was written with and save it again as ${ending}`,
        { cause: error },
      );
    }
  };
}

/** What a reader of a packed document found. */
interface Found {
  pieces: readonly Piece[];
  /** Characters that no reader sees, which were dropped. */
  hidden: number;
  isWhole?: boolean;
}

function fromPieces(name: string, { pieces, hidden, isWhole = true }: Found): ExtractedDocument {
  const assembled = assemble(pieces);
  if (assembled.text === '') throw new ExtractionError('is a document without text');
  return { title: name, ...assembled, hidden, isWhole: isWhole && hidden === 0 && assembled.isWhole };
}

function headingOf(text: string): string | undefined {
  return /^#{1,2}\s+(.{1,200})$/m.exec(text)?.[1]?.trim();
}

function startsWith(bytes: Uint8Array, opening: string): boolean {
  return Buffer.from(bytes.subarray(0, opening.length)).toString('latin1') === opening;
}

/** Escapes and reference marks such as [12] would only get in the way. */
function tidy(text: string): string {
  return text
    .replace(/^\ufeff/, '')
    .replace(/\\([\\`*_{}[\]()#+\-.!>~|])/g, '$1')
    .replace(/\[\d{1,3}\]/g, '')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
