import { url } from '@trunkline/config';
import { ExtractionError, type ExtractionPool, PAGE_WITHOUT_TEXT, ParserError } from '@trunkline/documents';
import { jsonEngineClient, parsePage, SearchError } from '@trunkline/tools';
import { z } from 'zod';
import { isStopWord, tokenize } from '../text/words.ts';
import { defineSource, type SearchResult, type SourceClient, type SourceText } from './source.ts';

/** An encyclopedia that runs MediaWiki. */
export const mediawiki = defineSource({
  name: 'mediawiki',
  title: 'Encyclopedia',
  kind: 'encyclopedia',
  isReference: true,
  options: {
    encyclopediaUrl: url({
      env: 'ENCYCLOPEDIA_URL',
      doc: "Address of a MediaWiki's api.php to search, such as https://en.wikipedia.org/w/api.php.",
    }),
  },
  missing: {
    what: 'Encyclopedia',
    variable: 'ENCYCLOPEDIA_URL',
    hint: 'Set it to the api.php of a MediaWiki.',
  },
  create: ({ encyclopediaUrl }, { timeoutMs, pool }) =>
    encyclopediaUrl === undefined ? undefined : mediawikiClient({ url: encyclopediaUrl, timeoutMs, pool }),
});

const MOST_BYTES = 8 * 1024 * 1024;

const searchSchema = z.object({
  query: z.object({
    search: z.array(z.object({ title: z.string(), pageid: z.int(), snippet: z.string().default('') })),
  }),
});
const pageSchema = z.object({
  query: z.object({
    pages: z.array(
      z.object({
        title: z.string().default(''),
        fullurl: z.string().optional(),
      }),
    ),
  }),
});
/** Some wikis refuse it. */
const parseSchema = z.object({ parse: z.object({ text: z.string() }).optional() });

/** Searches a MediaWiki and reads its articles through the API. */
function mediawikiClient(options: { url: string; timeoutMs: number; pool: ExtractionPool }): SourceClient {
  const endpoint = endpointOf(options.url);
  const name = `The encyclopedia at ${endpoint.origin}${endpoint.pathname}`;
  const ask = jsonEngineClient({
    name,
    url: endpoint.href,
    timeoutMs: options.timeoutMs,
    maxBytes: MOST_BYTES,
    advice: 'Check that it runs and that ENCYCLOPEDIA_URL names it.',
    unreadable: `${name} did not answer in JSON. Check that ENCYCLOPEDIA_URL names the service itself and not a page in front of it.`,
  });
  const call: Call = async (schema, fields, signal) => {
    const address = new URL(endpoint);
    address.search = new URLSearchParams({ ...fields, format: 'json', formatversion: '2' }).toString();
    const parsed = schema.safeParse(await ask(address, signal));
    if (parsed.success) return parsed.data;
    throw new SearchError(
      'search_unreadable',
      `${name} did not answer like a MediaWiki API. ENCYCLOPEDIA_URL must name its api.php.`,
    );
  };
  return {
    async search({ text, limit }, signal) {
      const hits = (words: string) => searchHits(call, words, limit, signal);
      const found = await hits(text);
      const chosen = found.length > 0 ? found : await hitsByWord(text, hits);
      const wanted = chosen.slice(0, limit);
      const snippets = await readable(() =>
        parsePage(
          'plainTexts',
          wanted.map(({ snippet }) => snippet),
          signal,
        ),
      );
      return wanted.map((hit, index) => toResult(endpoint, hit, snippets[index] ?? ''));
    },
    read: (result, signal) => readArticle(call, options.pool, result, signal),
    async probe(signal) {
      await call(
        z.object({ query: z.object({ general: z.unknown() }) }),
        { action: 'query', meta: 'siteinfo' },
        signal,
      );
    },
  };
}

type Call = <Schema extends z.ZodType>(
  schema: Schema,
  fields: Record<string, string>,
  signal: AbortSignal,
) => Promise<z.output<Schema>>;

type Hit = z.output<typeof searchSchema>['query']['search'][number];

async function searchHits(call: Call, text: string, limit: number, signal: AbortSignal): Promise<Hit[]> {
  const fields = {
    action: 'query',
    list: 'search',
    srwhat: 'text',
    srsearch: text,
    srlimit: String(limit),
  };
  return (await call(searchSchema, fields, signal)).query.search;
}

/** Words of a query that are searched for one by one. */
const MOST_WORDS = 5;
/** Of those, an article must have so many. */
const LEAST_SHARED = 2;

/** A wiki finds only articles with every word. For a longer query: those with most of its words, and at least two. */
async function hitsByWord(text: string, search: (word: string) => Promise<Hit[]>): Promise<Hit[]> {
  const words = [...new Set(tokenize(text).filter((word) => !isStopWord(word) && word.length > 2))];
  if (words.length < LEAST_SHARED) return [];
  const lists = await Promise.all(words.slice(0, MOST_WORDS).map(search));
  const counted = new Map<number, { hit: Hit; words: number }>();
  for (const hit of lists.flat()) {
    const known = counted.get(hit.pageid);
    counted.set(hit.pageid, { hit, words: (known?.words ?? 0) + 1 });
  }
  return [...counted.values()]
    .filter((entry) => entry.words >= LEAST_SHARED)
    .sort((left, right) => right.words - left.words)
    .map(({ hit }) => hit);
}

/** The API's own address, whether it or the directory that holds it was given. */
function endpointOf(url: string): URL {
  const given = new URL(url);
  if (given.pathname.endsWith('.php')) return given;
  return new URL('api.php', given.href.endsWith('/') ? given.href : `${given.href}/`);
}

/** The address by page id is stable and works on every wiki. */
function toResult(endpoint: URL, { title, pageid }: Hit, snippet: string): SearchResult {
  return {
    title,
    url: new URL(`index.php?curid=${pageid}`, endpoint).href,
    snippet: withoutMarkup(snippet),
    engines: ['mediawiki'],
  };
}

/** Snippets are pieces of the article's source. */
function withoutMarkup(wikitext: string): string {
  return wikitext
    .replace(/'{2,}|={2,}/g, '')
    .replace(/\{\{[^{}]*\}\}/g, '')
    .replace(/\[\[(?:[^[\]|]*\|)?([^[\]]*)\]\]/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * An article with its tables, boxes and notes: the plain text that some wikis offer has none of those. Undefined where the
 * wiki gives no text of it, so that its page is read.
 */
async function readArticle(
  call: Call,
  pool: ExtractionPool,
  result: SearchResult,
  signal: AbortSignal,
): Promise<SourceText | undefined> {
  const id = new URL(result.url).searchParams.get('curid') ?? '';
  const about = { action: 'query', prop: 'info', inprop: 'url', pageids: id };
  const whole = { action: 'parse', prop: 'text', pageid: id, disableeditsection: '1', disabletoc: '1' };
  const [{ query }, { parse }] = await Promise.all([
    call(pageSchema, about, signal),
    call(parseSchema, whole, signal),
  ]);
  const { title = '', fullurl: url = result.url } = query.pages[0] ?? {};
  if (parse === undefined) return undefined;
  // All of it is the article.
  const raw = {
    bytes: Buffer.from(`<main>${parse.text}</main>`),
    type: 'text/html',
    charset: 'utf-8',
    name: title,
  };
  const read = await readable(() => pool.extract(raw, { signal, isFromWeb: true }).catch(orNoText));
  if (read === undefined) return undefined;
  const { text, mainLength, isWhole } = read;
  return { title: title || result.title, url, text, mainLength, isWhole };
}

/** A redirect or a page of pictures has no text. */
function orNoText(error: unknown): undefined {
  if (!(error instanceof ExtractionError) || error.message !== PAGE_WITHOUT_TEXT) throw error;
}

/** HTML of a wiki that cannot be parsed within its limits is a failure of the source. */
async function readable<Result>(parse: () => Promise<Result>): Promise<Result> {
  try {
    return await parse();
  } catch (error) {
    if (!(error instanceof ParserError || error instanceof ExtractionError)) throw error;
    throw new SearchError('search_unreadable', `What the encyclopedia sent ${error.message}.`);
  }
}
