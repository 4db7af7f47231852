import { decode, ExtractionError, ExtractionPool, PAGE_WITHOUT_TEXT } from '@trunkline/documents';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedResponse,
  HttpError,
  isUnanswered,
} from '@trunkline/http';
import { defineTool, type Tool, type ToolContext, urlSubject } from '@trunkline/llm';
import { z } from 'zod';
import { failure } from '../failure.ts';

const HTML = new Set(['text/html', 'application/xhtml+xml']);

const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|ecmascript|toml|csv|x-ndjson)$/;

const MARKER = '…[truncated]';

/** Whom the tool may reach beyond public addresses, and how long a page may take. */
export type FetchUrlOptions = Pick<
  GuardedFetchOptions,
  'allowedHosts' | 'allowedCidrs' | 'lookup' | 'timeoutMs'
>;

const MOST_BYTES = 2 * 1024 * 1024;
const MOST_CHARS = 100_000;

const input = z.object({
  url: z.string().describe('Address that begins with http:// or https://.'),
  max_chars: z.number().int().default(8000).describe('At most this many characters of text come back.'),
});

/** Shared by all services of the process, so that no number of hostile pages takes more than its threads. */
const sharedPool = new ExtractionPool({ timeoutMs: 10_000, memoryMb: 256 });

/** Fetches a page and gives its readable text. */
export function createFetchUrl(options: FetchUrlOptions = {}, pool = sharedPool): Tool {
  const fetch = createGuardedFetch({ ...options, maxBytes: MOST_BYTES, overflow: 'cut' });
  return defineTool({
    name: 'fetch_url',
    effects: ['reads'],
    external: true,
    subject: ({ url }) => urlSubject(url),
    description:
      'Fetches a web page, text file, PDF, Word, OpenDocument, EPUB or spreadsheet file and gives its readable text.',
    input,
    async execute({ url, max_chars }, context) {
      try {
        const most = Math.min(Math.max(max_chars, 1), MOST_CHARS);
        return await fetchText(fetch, pool, url, most, context);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        if (isUnanswered(error)) context.ownWords?.();
        return failure(error);
      }
    },
  });
}

async function fetchText(
  fetch: GuardedFetch,
  pool: ExtractionPool,
  url: string,
  most: number,
  { signal, permits = () => true }: Pick<ToolContext, 'signal' | 'permits'>,
): Promise<string> {
  const host = siteOf(URL.parse(url.trim()));
  const response = await fetch(url.trim(), {
    signal,
    // A host that may be read must not carry data on to one that may not.
    allowsRedirect: (target) => siteOf(target) === host || permits(urlSubject(target.href)),
    headers: {
      accept: 'text/html,application/xhtml+xml,text/plain,application/json,application/pdf,*/*;q=0.5',
    },
  });
  const readable = await readableText(response, pool, signal);
  if ('problem' in readable) return `Error: [${response.status}] ${response.url} ${readable.problem}`;
  return `[${response.status}] ${response.url}\n${clip(readable.text, most, response.truncated)}`;
}

function siteOf(url: URL | null): string | undefined {
  return url?.host.replace(/^www\./, '');
}

/** At most that many characters of the text; the marker says that there was more. */
function clip(text: string, most: number, cutBefore = false): string {
  if (text.length <= most) return cutBefore ? `${text}${MARKER}` : text;
  return `${wholeCharacters(text.slice(0, most))}${MARKER}`;
}

/** A cut between the halves of a surrogate pair leaves a broken character behind. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

/** The text of an answer, or why it has none. */
type Readable = { text: string } | { problem: string };

async function readableText(
  response: GuardedResponse,
  pool: ExtractionPool,
  signal: AbortSignal,
): Promise<Readable> {
  const { contentType: type, body: bytes, truncated: isCut, url: address } = response;
  const charset = /charset\s*=\s*["']?([\w.:-]+)/i.exec(response.headers.get('content-type') ?? '')?.[1];
  const isPage = isHtml(type, bytes);
  const isPdf = type === 'application/pdf' || startsWith(bytes, '%PDF-');
  if (!isPage && !isPdf) {
    if (MEDIA.test(type)) return { problem: `holds ${type}, which is not text` };
    if (TEXTUAL.test(type) || !opening(bytes).includes('\0')) return { text: decode(bytes, charset) };
  }
  if (isCut && !isPage)
    return { problem: `is a ${isPdf ? 'PDF' : 'file'} of more than 2 MB, which is too large to read` };
  try {
    const raw = { bytes, type, charset, name: '', address, isCut, isContentOnly: true };
    const { text } = await pool.extract(raw, { signal, isFromWeb: true, mayRecognise: false });
    return { text };
  } catch (error) {
    if (!(error instanceof ExtractionError)) throw error;
    if (error.message === PAGE_WITHOUT_TEXT) return { text: '' };
    return { problem: error.message };
  }
}

const MEDIA = /^(?:image|audio|video|font)\//;

function isHtml(contentType: string, bytes: Uint8Array): boolean {
  return (
    HTML.has(contentType) || (contentType === '' && /^\s*<(?:!doctype html|html)[\s>]/i.test(opening(bytes)))
  );
}

/** A NUL byte among the first ones gives binary data away. */
function opening(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
}

function startsWith(bytes: Uint8Array, words: string): boolean {
  return opening(bytes).startsWith(words);
}
