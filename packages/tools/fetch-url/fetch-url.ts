import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions, HttpError } from '@trunkline/http';
import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { clip } from '../clip.ts';
import { failure } from '../failure.ts';
import { readableText } from './readable-text.ts';

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
    readOnly: true,
    description: 'Fetches a web page, text file or PDF and gives its readable text.',
    input,
    async execute({ url, max_chars }, { signal }) {
      try {
        return await fetchText(fetch, url, Math.min(Math.max(max_chars, 1), MOST_CHARS), signal);
      } catch (error) {
        if (error instanceof HttpError) return failure(error);
        throw error;
      }
    },
  });
}

async function fetchText(
  fetch: GuardedFetch,
  url: string,
  most: number,
  signal: AbortSignal,
): Promise<string> {
  const response = await fetch(url.trim(), {
    signal,
    headers: {
      accept: 'text/html,application/xhtml+xml,text/plain,application/json,application/pdf,*/*;q=0.5',
    },
  });
  const readable = await readableText(response, signal);
  if ('problem' in readable) return `Error: [${response.status}] ${response.url} ${readable.problem}`;
  return `[${response.status}] ${response.url}\n${clip(readable.text, most, response.truncated)}`;
}
