import { setTimeout as delay } from 'node:timers/promises';
import { ParserError } from '@trunkline/documents';
import { createGuardedFetch, type GuardedRequest, type GuardedResponse } from '@trunkline/http';
import { parseRetryAfter } from '@trunkline/llm';
import { errorMessage, formatDuration, Mutex } from '@trunkline/std';
import { parsePage } from './parse-page.ts';
import { type DatedResult, SearchError } from './web-search.ts';

export interface EngineAddress {
  /** How errors call the service, such as `SearXNG at http://...`. */
  name: string;
  url: string;
  timeoutMs: number;
  maxBytes?: number;
  /** What to do when it cannot be reached. */
  advice?: string;
}

/** Asks an engine that the operator named, so that its host may be private; limits hold all the same. */
export function engineClient({ name, url, advice, ...limits }: EngineAddress) {
  const fetch = createGuardedFetch({
    allowedHosts: [new URL(url).hostname],
    userAgent: 'Mozilla/5.0 (compatible; trunkline)',
    ...limits,
  });
  return async (address: URL, request: GuardedRequest): Promise<GuardedResponse> => {
    try {
      return await fetch(address, request);
    } catch (error) {
      if (request.signal?.aborted) throw error;
      const words = [`${name} cannot be reached: ${errorMessage(error)}`, advice].filter(Boolean).join(' ');
      throw new SearchError('search_unreachable', words, { cause: error });
    }
  };
}

export interface JsonEngineAddress extends EngineAddress {
  headers?: Readonly<Record<string, string>>;
  /** What a status means that needs more than its number, after the name of the engine; text of the answer's where it says more. */
  refusals?: Readonly<Record<number, string | ((answer: string) => string | undefined)>>;
  /** What is wrong when the answer is no JSON. */
  unreadable: string;
}

/** An engine that asks for a longer pause than this is not asked again for the same query. */
const LONGEST_PAUSE_MS = 3000;
const MOST_PAUSED = 100;

/** Asks an engine of the operator's for JSON. Short pauses that it asks for are kept, one query after the other. */
export function jsonEngineClient({ headers, refusals = {}, unreadable, ...address }: JsonEngineAddress) {
  const ask = engineClient(address);
  const paused = new Mutex({ maxWaiting: MOST_PAUSED });
  const { name } = address;
  return async (
    url: URL,
    signal: AbortSignal,
    request: Pick<GuardedRequest, 'method' | 'body' | 'headers'> = {},
  ): Promise<unknown> => {
    const full = {
      ...request,
      signal,
      headers: { accept: 'application/json', ...headers, ...request.headers },
    };
    let response = await ask(url, full);
    const pauseMs = pauseOf(response);
    if (pauseMs !== undefined && pauseMs <= LONGEST_PAUSE_MS)
      response = await paused.run(
        async () => {
          await delay(pauseMs, undefined, { signal }).catch(() => signal.throwIfAborted());
          return await ask(url, full);
        },
        { signal },
      );
    const { status } = response;
    if (status !== 200) {
      const words = [refusalOf(response, refusals[status]), pauseWords(response)].filter(Boolean).join(' ');
      throw new SearchError(status < 500 ? 'search_refused' : 'search_unreachable', `${name} ${words}`);
    }
    try {
      return JSON.parse(response.text());
    } catch (error) {
      throw new SearchError('search_unreadable', unreadable, { cause: error });
    }
  };
}

function refusalOf(
  response: GuardedResponse,
  refusal: string | ((answer: string) => string | undefined) | undefined,
): string {
  const words = typeof refusal === 'function' ? refusal(response.text()) : refusal;
  return words ?? `answered with status ${response.status}.`;
}

/** How long an engine that limits its rate wants to be left alone. */
function pauseOf({ status, headers }: GuardedResponse): number | undefined {
  if (status !== 429) return undefined;
  return parseRetryAfter(Object.fromEntries(headers), Date.now) ?? untilReset(headers);
}

/** Where limits are told by window, such as a second and a month: until the last one that is used up begins again. */
function untilReset(headers: Headers): number | undefined {
  const numbers = (name: string) => (headers.get(name) ?? '').split(',').map(Number);
  const remaining = numbers('x-ratelimit-remaining');
  const waits = numbers('x-ratelimit-reset').filter(
    (seconds, window) => seconds > 0 && remaining[window] === 0,
  );
  return waits.length === 0 ? undefined : Math.max(...waits) * 1000;
}

function pauseWords(response: GuardedResponse): string | undefined {
  const pauseMs = pauseOf(response);
  return pauseMs === undefined ? undefined : `It asks to wait ${formatDuration(pauseMs)}.`;
}

/** One result as an API gave it: title and snippet may hold HTML. */
interface RawResult {
  title: string | null | undefined;
  url: string;
  snippet: string | null | undefined;
  publishedDate: string | null | undefined;
}

const LONGEST_TEXT = 4000;

/** The results whose address can be opened, with plain text alone. */
export async function plainResults(found: readonly RawResult[], signal: AbortSignal): Promise<DatedResult[]> {
  const usable = found.filter(({ url }) => /^https?:\/\//.test(url));
  const pieces = usable.flatMap(({ title, snippet }) => [title ?? '', snippet ?? '']);
  const texts = await plainTexts(
    pieces.map((piece) => piece.slice(0, LONGEST_TEXT)),
    signal,
  );
  return usable.map(({ url, publishedDate }, index) => ({
    title: texts[2 * index] || url,
    url,
    snippet: texts[2 * index + 1] ?? '',
    ...(publishedDate && { publishedDate }),
  }));
}

async function plainTexts(pieces: string[], signal: AbortSignal): Promise<string[]> {
  // Most need no parser, which is a process of its own.
  const marked = pieces.filter((piece) => /[<&]/.test(piece));
  const parsed = marked.length === 0 ? [] : await parse(marked, signal);
  const texts = new Map(marked.map((piece, index) => [piece, parsed[index] ?? '']));
  return pieces.map((piece) => (texts.get(piece) ?? piece).replace(/\s+/g, ' ').trim());
}

async function parse(pieces: string[], signal: AbortSignal): Promise<string[]> {
  try {
    return await parsePage('plainTexts', pieces, signal);
  } catch (error) {
    if (!(error instanceof ParserError)) throw error;
    throw new SearchError('search_unreadable', 'The search results could not be read.', { cause: error });
  }
}
