import { z } from 'zod';
import { type ServiceAddress, serviceClient } from './service-client.ts';
import { type SearchResult, type Source, SourceError } from './source.ts';

const answerSchema = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      engines: z.array(z.string()).nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
  unresponsive_engines: z.array(z.array(z.unknown())).nullish(),
});

export type SearxngOptions = Pick<ServiceAddress, 'url' | 'timeoutMs' | 'basicAuth'>;

/** Searches through the JSON API of a SearXNG instance. */
export function createSearxng(options: SearxngOptions): Source {
  const name = `SearXNG at ${shown(options.url)}`;
  const ask = serviceClient({ ...options, name, variable: 'SEARXNG_URL' });
  const base = options.url.endsWith('/') ? options.url : `${options.url}/`;
  return {
    name: 'searxng',
    kind: 'web',
    async search({ text, limit, categories }, signal) {
      const address = new URL('search', base);
      const fields = {
        q: text,
        format: 'json',
        pageno: '1',
        ...(categories !== undefined && { categories }),
      };
      address.search = new URLSearchParams(fields).toString();
      return resultsOf(name, await ask(address, signal)).slice(0, limit);
    },
    async probe(signal) {
      await ask(new URL('config', base), signal);
    },
  };
}

function resultsOf(name: string, body: unknown): SearchResult[] {
  const parsed = answerSchema.safeParse(body);
  if (!parsed.success)
    throw new SourceError(
      'source_unreadable',
      `${name} did not answer with search results. Check SEARXNG_URL.`,
    );
  const { results, unresponsive_engines } = parsed.data;
  if (results.length === 0 && unresponsive_engines && unresponsive_engines.length > 0)
    throw new SourceError(
      'source_unreachable',
      `${name} gave no results because its engines do not respond: ${engineWords(unresponsive_engines)}.`,
    );
  return results.filter(({ url }) => /^https?:\/\//.test(url)).map(toResult);
}

function engineWords(engines: readonly unknown[][]): string {
  return engines.map(([engine, reason]) => `${String(engine)} (${String(reason)})`).join(', ');
}

function toResult({
  url,
  title,
  content,
  engines,
  publishedDate,
}: z.infer<typeof answerSchema>['results'][number]): SearchResult {
  return {
    title: (title ?? '').trim() || url,
    url,
    snippet: (content ?? '').replace(/\s+/g, ' ').trim(),
    ...(engines && engines.length > 0 && { engines }),
    ...(publishedDate && { publishedDate }),
  };
}

/** The address without a password that may stand in it. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/$/, '');
}
