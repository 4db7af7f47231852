import type { load as parse } from 'cheerio/slim';
import { z } from 'zod';
import { serviceClient } from './service-client.ts';
import { type SearchResult, type Source, SourceError, type SourceText } from './source.ts';

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
        extract: z.string().optional(),
      }),
    ),
  }),
});
const parseSchema = z.object({ parse: z.object({ title: z.string(), text: z.string() }) });

/** Searches a MediaWiki and reads its articles through the API. */
export function createMediawiki(options: { url: string; timeoutMs: number }): Source {
  const endpoint = endpointOf(options.url);
  const name = `The encyclopedia at ${endpoint.origin}${endpoint.pathname}`;
  const ask = serviceClient({ ...options, url: endpoint.href, name, variable: 'ENCYCLOPEDIA_URL' });
  const call = async <Schema extends z.ZodType>(
    schema: Schema,
    fields: Record<string, string>,
    signal: AbortSignal,
  ) => {
    const address = new URL(endpoint);
    address.search = new URLSearchParams({ ...fields, format: 'json', formatversion: '2' }).toString();
    const parsed = schema.safeParse(await ask(address, signal));
    if (parsed.success) return parsed.data as z.output<Schema>;
    throw new SourceError(
      'source_unreadable',
      `${name} did not answer like a MediaWiki API. ENCYCLOPEDIA_URL must name its api.php.`,
    );
  };
  return {
    name: 'mediawiki',
    kind: 'encyclopedia',
    async search({ text, limit }, signal) {
      const fields = {
        action: 'query',
        list: 'search',
        srwhat: 'text',
        srsearch: text,
        srlimit: String(limit),
      };
      const { query } = await call(searchSchema, fields, signal);
      const { load } = await import('cheerio/slim');
      return query.search.map((hit) => toResult(endpoint, hit, load));
    },
    read: (result, signal) => readArticle(call, result, signal),
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

/** The API's own address, whether it or the directory that holds it was given. */
function endpointOf(url: string): URL {
  const given = new URL(url);
  if (given.pathname.endsWith('.php')) return given;
  return new URL('api.php', given.href.endsWith('/') ? given.href : `${given.href}/`);
}

/** The address by page id is stable and works on every wiki. */
function toResult(
  endpoint: URL,
  { title, pageid, snippet }: { title: string; pageid: number; snippet: string },
  load: typeof parse,
): SearchResult {
  return {
    title,
    url: new URL(`index.php?curid=${pageid}`, endpoint).href,
    snippet: load(snippet).text().replace(/\s+/g, ' ').trim(),
    engines: ['mediawiki'],
  };
}

/** The plain text of an article; a wiki without the extension for that gives HTML instead. */
async function readArticle(
  call: Call,
  result: SearchResult,
  signal: AbortSignal,
): Promise<SourceText | undefined> {
  const id = new URL(result.url).searchParams.get('curid') ?? '';
  const fields = { action: 'query', prop: 'extracts|info', explaintext: '1', inprop: 'url', pageids: id };
  const { query } = await call(pageSchema, fields, signal);
  const page = query.pages[0];
  const text = page?.extract ?? (await parsedText(call, id, signal));
  if (text.trim() === '') return undefined;
  return { title: page?.title || result.title, url: page?.fullurl ?? result.url, text };
}

async function parsedText(call: Call, id: string, signal: AbortSignal): Promise<string> {
  const { parse } = await call(parseSchema, { action: 'parse', pageid: id, prop: 'text' }, signal);
  const { load } = await import('cheerio/slim');
  const page = load(parse.text);
  page('style, script, table, .mw-editsection, sup.reference, nav, footer').remove();
  return page('p, li, h2, h3')
    .toArray()
    .map((element) => page(element).text().replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}
