import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** How the next requests end; a test may change it at any time. */
export type KeyedAnswer =
  | 'results'
  | 'empty'
  | 'limited'
  | 'quota'
  | 'html'
  | { status: number; body: string };

export interface KeyedSearchServer {
  /** For BRAVE_API_URL. */
  braveUrl: string;
  /** For TAVILY_API_URL. */
  tavilyUrl: string;
  /** Method, path and body of every request so far. */
  requests: { method: string; url: URL; body: string }[];
  /** Taken in turn by the requests; `results` when none is left. */
  answers: KeyedAnswer[];
  /** Headers beside those of the format, such as Retry-After. */
  headers: Record<string, string>;
  stop(): Promise<void>;
}

/** The only key that the server takes. */
export const searchKey = 'tvly-or-BSA-key-of-a-test';

/** The APIs of Brave Search and Tavily as they are published, on a real socket. */
export async function startKeyedSearch(): Promise<KeyedSearchServer> {
  const state = {
    requests: [] as KeyedSearchServer['requests'],
    answers: [] as KeyedAnswer[],
    headers: {} as Record<string, string>,
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const api = url.pathname === '/search' ? tavily : brave;
    state.requests.push({ method: request.method ?? '', url, body: await text(request) });
    const isKnown = api.key(request) === searchKey;
    const next = isKnown
      ? (state.answers.shift() ?? 'results')
      : { status: api.refused[0], body: api.refused[1] };
    const [status, body] = typeof next === 'object' ? [next.status, next.body] : api[next];
    const type = next === 'html' ? 'text/html' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...(status === 429 && state.headers) }).end(body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    braveUrl: `${base}/res/v1`,
    tavilyUrl: base,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

type Answer = readonly [status: number, body: string];

interface KeyedApi extends Record<Extract<KeyedAnswer, string> | 'refused', Answer> {
  key(request: IncomingMessage): string | undefined;
}

const welcome: Answer = [200, '<!doctype html><h1>Welcome</h1>'];

/**
 * GET /res/v1/web/search. Results: the model WebSearchApiResponse at api-dashboard.search.brave.com/app/documentation/web-search
 * (a result's description holds HTML, even without decorations; `web` is left out where nothing is found). Errors: the examples of
 * APIErrorResponse at api-dashboard.search.brave.com/api-reference, in the form that the API sends them (`error`, as quoted in
 * github.com/egoist/chatwise-releases/issues/1296): a wrong key is 422.
 */
const brave: KeyedApi = {
  key: ({ headers }) => headers['x-subscription-token']?.toString(),
  results: [
    200,
    '{"query":{"original":"tidal power","show_strict_warning":false,"is_navigational":false,"is_news_breaking":false,"spellcheck_off":true,"country":"us","bad_results":false,"should_fallback":false,"postal_code":"","city":"","header_country":"","more_results_available":true,"state":""},"mixed":{"type":"mixed","main":[{"type":"web","index":0,"all":false},{"type":"web","index":1,"all":false}],"top":[],"side":[]},"type":"search","web":{"type":"search","results":[{"title":"Tidal power - Wikipedia","url":"https://en.wikipedia.org/wiki/Tidal_power","is_source_local":false,"is_source_both":false,"description":"<strong>Tidal power</strong> is harnessed by converting energy from tides &amp; currents; it&#x27;s predictable.","page_age":"2025-02-12T19:36:35","profile":{"name":"Wikipedia","url":"https://en.wikipedia.org/wiki/Tidal_power","long_name":"en.wikipedia.org","img":"https://imgs.search.brave.com/a"},"language":"en","family_friendly":true,"type":"search_result","subtype":"generic","meta_url":{"scheme":"https","netloc":"en.wikipedia.org","hostname":"en.wikipedia.org","favicon":"https://imgs.search.brave.com/b","path":"› wiki › Tidal_power"},"age":"February 12, 2025"},{"title":"Tides &amp; energy","url":"https://tides.example/energy","is_source_local":false,"is_source_both":false,"description":"","language":"en","family_friendly":true,"type":"search_result","subtype":"generic"},{"title":"Odd","url":"javascript:alert(1)","description":"<script>alert(1)</script>","type":"search_result","subtype":"generic"}],"family_friendly":true}}',
  ],
  empty: [
    200,
    '{"query":{"original":"zxqv","show_strict_warning":false,"spellcheck_off":true,"country":"us","bad_results":false,"more_results_available":false},"mixed":{"type":"mixed","main":[],"top":[],"side":[]},"type":"search"}',
  ],
  refused: [
    422,
    '{"type":"ErrorResponse","error":{"id":"5d832250-9396-4f6e-b84a-2a1fe524cd7d","status":422,"detail":"The provided subscription token is invalid.","meta":{"component":"authentication"},"code":"SUBSCRIPTION_TOKEN_INVALID"},"time":1663072993}',
  ],
  limited: [
    429,
    '{"type":"ErrorResponse","error":{"id":"5d832250-9396-4f6e-b84a-2a1fe524cd7d","status":429,"detail":"Request rate limit exceeded for plan","meta":{"plan":"Free","rate_limit":1,"rate_current":1,"quota_limit":2000,"quota_current":15,"org_rate_limit":null,"org_rate_current":0,"component":"rate_limiter"},"code":"RATE_LIMITED"},"time":1773685964}',
  ],
  quota: [
    429,
    '{"type":"ErrorResponse","error":{"id":"5d832250-9396-4f6e-b84a-2a1fe524cd7d","status":429,"detail":"Request quota limit exceeded for plan.","meta":{"component":"rate_limiter"},"code":"QUOTA_LIMITED"},"time":1663072993}',
  ],
  html: welcome,
};

/** POST /search: the example and the errors of the OpenAPI document at docs.tavily.com/documentation/api-reference/endpoint/search. */
const tavily: KeyedApi = {
  key: ({ headers }) => headers.authorization?.replace('Bearer ', ''),
  results: [
    200,
    '{"query":"Who is Leo Messi?","answer":"Lionel Messi, born in 1987, is an Argentine footballer.","images":[],"results":[{"title":"Lionel Messi Facts | Britannica","url":"https://www.britannica.com/facts/Lionel-Messi","content":"Lionel Messi, an Argentine footballer, is <b>widely</b> regarded as one of the greatest\\n football players &amp; captains of his generation.","score":0.81025416,"raw_content":null,"favicon":"https://britannica.com/favicon.png"}],"auto_parameters":{"topic":"general","search_depth":"basic"},"response_time":"1.67","usage":{"credits":1},"request_id":"123e4567-e89b-12d3-a456-426614174111"}',
  ],
  empty: [
    200,
    '{"query":"zxqv","answer":null,"images":[],"results":[],"response_time":"0.42","request_id":"123e4567-e89b-12d3-a456-426614174111"}',
  ],
  refused: [401, '{"detail":{"error":"Unauthorized: missing or invalid API key."}}'],
  limited: [
    429,
    '{"detail":{"error":"Your request has been blocked due to excessive requests. Please reduce the rate of requests."}}',
  ],
  quota: [
    432,
    '{"detail":{"error":"This request exceeds your plan\'s set usage limit. Please upgrade your plan or contact support@tavily.com"}}',
  ],
  html: welcome,
};
