import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type CorpusPage, findArticles, findPages, htmlOf, paragraphsOf, snippetOf } from './corpus.ts';

/** What goes wrong with an engine; a test may change it at any time. */
export type EngineFault =
  | 'none'
  /** Answers with this status. */
  | { status: number }
  /** Answers with a page instead of JSON. */
  | 'html'
  /** Answers with no results, and says which of its engines did not respond. */
  | 'empty'
  /** The connection is cut. */
  | 'cut'
  /** Never answers. */
  | 'hang';

export interface SearchServerOptions {
  pages: readonly CorpusPage[];
  /** Milliseconds before an answer of an engine. */
  searchLatencyMs?: number;
  /** Milliseconds before a page is sent. */
  pageLatencyMs?: number;
  /** Asked for by SearXNG when given, as user:password. */
  basicAuth?: string;
}

export interface SearchServer {
  /** Base address for `SEARXNG_URL`. */
  searxngUrl: string;
  /** Address of `api.php` for `ENCYCLOPEDIA_URL`. */
  encyclopediaUrl: string;
  url: string;
  /** Method and path with query of every request so far. */
  requests: string[];
  faults: { searxng: EngineFault; mediawiki: EngineFault; pages: EngineFault };
  /** Requests under way at once, at most, so far. */
  peak(): number;
  stop(): Promise<void>;
}

/** SearXNG, MediaWiki and a web of pages over one corpus, on a real socket. */
export async function startSearchServer(options: SearchServerOptions): Promise<SearchServer> {
  const requests: string[] = [];
  const faults: SearchServer['faults'] = { searxng: 'none', mediawiki: 'none', pages: 'none' };
  let [underWay, peak] = [0, 0];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    underWay += 1;
    peak = Math.max(peak, underWay);
    response.on('close', () => {
      underWay -= 1;
    });
    answer(request, response, options, faults).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    searxngUrl: `${url}/searxng`,
    encyclopediaUrl: `${url}/wiki/api.php`,
    requests,
    faults,
    peak: () => peak,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: SearchServerOptions,
  faults: SearchServer['faults'],
): Promise<void> {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
  const part = url.pathname.startsWith('/searxng')
    ? 'searxng'
    : url.pathname.startsWith('/wiki/api.php')
      ? 'mediawiki'
      : 'pages';
  await delay((part === 'pages' ? options.pageLatencyMs : options.searchLatencyMs) ?? 0);
  if (faults[part] !== 'none' && faults[part] !== 'empty') return fail(response, faults[part]);
  if (part === 'searxng') return void searxng(request, url, response, options, faults.searxng === 'empty');
  if (part === 'mediawiki') return void mediawiki(url, response, options, faults.mediawiki === 'empty');
  sendPage(url, response, options.pages);
}

function fail(response: ServerResponse, fault: Exclude<EngineFault, 'none' | 'empty'>): void {
  if (fault === 'cut') response.destroy();
  else if (fault === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
  else if (fault !== 'hang')
    response.writeHead(fault.status, { 'content-type': 'text/plain' }).end('refused');
}

function searxng(
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
  { pages, basicAuth }: SearchServerOptions,
  empty: boolean,
): unknown {
  const expected = basicAuth === undefined ? undefined : `Basic ${Buffer.from(basicAuth).toString('base64')}`;
  if (expected !== undefined && request.headers.authorization !== expected)
    return response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
  if (url.pathname.endsWith('/config')) return json(response, { instance_name: 'test', engines: [] });
  if (url.searchParams.get('format') !== 'json') return response.writeHead(403).end();
  const query = url.searchParams.get('q') ?? '';
  const base = `http://${request.headers.host}`;
  const results = empty
    ? []
    : findPages(pages, query)
        .slice(0, 10)
        .map((page) => searxngResult(page, base, url.searchParams.get('categories')));
  const unresponsive = empty
    ? [
        ['google', 'timeout'],
        ['bing', 'access denied'],
      ]
    : [];
  return json(response, {
    query,
    number_of_results: results.length,
    results,
    answers: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: unresponsive,
  });
}

function searxngResult(page: CorpusPage, base: string, category: string | null) {
  return {
    url: base + page.path,
    title: page.title,
    content: snippetOf(page),
    engine: 'corpus',
    engines: ['corpus', 'mirror'],
    score: 1,
    category: category ?? 'general',
    publishedDate: page.publishedDate ?? null,
  };
}

function mediawiki(
  url: URL,
  response: ServerResponse,
  { pages }: SearchServerOptions,
  empty: boolean,
): unknown {
  const parameters = url.searchParams;
  const articles = pages.filter(({ encyclopedia }) => encyclopedia);
  const address = (page: CorpusPage) =>
    `${url.origin}/wiki/index.php/${encodeURIComponent(page.title.replaceAll(' ', '_'))}`;
  if (parameters.get('meta') === 'siteinfo')
    return json(response, { query: { general: { sitename: 'Corpus' } } });
  if (parameters.get('list') === 'search') {
    const found = empty
      ? []
      : findArticles(articles, parameters.get('srsearch') ?? '').slice(
          0,
          Number(parameters.get('srlimit') ?? 10),
        );
    const search = found.map((page) => ({
      ns: 0,
      title: page.title,
      pageid: articles.indexOf(page) + 1,
      snippet: `'''<span class="searchmatch">${snippetOf(page)}</span>''' {{Source}} [[Sea|the sea]]`,
    }));
    return json(response, {
      batchcomplete: true,
      query: { searchinfo: { totalhits: search.length }, search },
    });
  }
  if (parameters.get('action') === 'parse') return parse(parameters, articles, response);
  const page = articles[Number(parameters.get('pageids')) - 1];
  if (page === undefined) return json(response, { query: { pages: [{ pageid: 0, missing: true }] } });
  const entry = { pageid: articles.indexOf(page) + 1, title: page.title, fullurl: address(page) };
  return json(response, { query: { pages: [entry] } });
}

function parse(
  parameters: URLSearchParams,
  articles: readonly CorpusPage[],
  response: ServerResponse,
): unknown {
  const page = articles[Number(parameters.get('pageid')) - 1];
  if (page === undefined)
    return json(response, { error: { code: 'nosuchpageid', info: 'There is no page with that ID.' } });
  // What a wiki gives is the article alone, without the page around it.
  const article = page.body === undefined ? paragraphsOf(page) : Buffer.from(page.body.bytes).toString();
  return json(response, {
    parse: { title: page.title, text: `<div class="mw-parser-output">${article}</div>` },
  });
}

function sendPage(url: URL, response: ServerResponse, pages: readonly CorpusPage[]): unknown {
  const page = pages.find(({ path }) => path === url.pathname);
  if (page === undefined)
    return response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page');
  const { type, bytes } = page.body ?? { type: 'text/html; charset=utf-8', bytes: Buffer.from(htmlOf(page)) };
  return response.writeHead(200, { 'content-type': type }).end(bytes);
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
