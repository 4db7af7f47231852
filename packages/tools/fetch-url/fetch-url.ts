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
import { ParserError, parsePage } from '../parsing/parser-pool.ts';
import type { Readable } from './pdf-text.ts';

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

/** Fetches a page and gives its readable text. */
export function createFetchUrl(options: FetchUrlOptions = {}): Tool {
  const fetch = createGuardedFetch({ ...options, maxBytes: MOST_BYTES, overflow: 'cut' });
  return defineTool({
    name: 'fetch_url',
    effects: ['reads'],
    external: true,
    subject: ({ url }) => urlSubject(url),
    description: 'Fetches a web page, text file or PDF and gives its readable text.',
    input,
    async execute({ url, max_chars }, context) {
      try {
        return await fetchText(fetch, url, Math.min(Math.max(max_chars, 1), MOST_CHARS), context);
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
  const readable = await readableText(response, signal);
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

async function readableText(response: GuardedResponse, signal: AbortSignal): Promise<Readable> {
  const { contentType, body, truncated } = response;
  if (contentType === 'application/pdf' || startsWith(body, '%PDF-')) {
    if (truncated) return { problem: 'is a PDF of more than 2 MB, which is too large to read' };
    const read = () => parsePage('pdf', new Uint8Array(body), signal);
    return await orProblem(read, 'is a PDF that cannot be read: it ');
  }
  if (isBinary(contentType, body))
    return { problem: `holds ${contentType || 'binary data'}, which is not text` };
  const text = response.text();
  return isHtml(contentType, text) ? await orProblem(() => parsePage('html', text, signal)) : { text };
}

/** A page that cannot be parsed is a problem in words. */
async function orProblem(read: () => Promise<Readable>, opening = ''): Promise<Readable> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ParserError) return { problem: `${opening}${error.message}` };
    throw error;
  }
}

function isHtml(contentType: string, text: string): boolean {
  return HTML.has(contentType) || (contentType === '' && /^\s*<(?:!doctype html|html)[\s>]/i.test(text));
}

/** A declared text type is believed; otherwise a NUL byte among the first ones gives binary data away. */
function isBinary(contentType: string, body: Uint8Array): boolean {
  if (TEXTUAL.test(contentType)) return false;
  if (/^(?:image|audio|video|font)\//.test(contentType)) return true;
  return body.subarray(0, 1024).includes(0);
}

function startsWith(body: Uint8Array, opening: string): boolean {
  return Buffer.from(body.subarray(0, opening.length)).toString('latin1') === opening;
}
