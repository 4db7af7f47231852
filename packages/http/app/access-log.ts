import type { RequestContext } from './context.ts';
import type { Logger } from './logger.ts';

export interface AnsweredRequest {
  /** The pattern, never the path: paths are without number and would fill the memory of the metrics. */
  route: string;
  status: number;
  /** With its query. */
  url: string;
  startedAt: number;
}

const SECRET_NAME =
  /(?:key|token|secret|password|passwd|auth|authorization|signature|sig|credentials?|code)$/i;

/** One line and one measurement a request, when its answer begins. */
export function recordRequest(context: RequestContext, logger: Logger, answered: AnsweredRequest): void {
  const { route, status, url, startedAt } = answered;
  const seconds = (performance.now() - startedAt) / 1000;
  const { method, path } = context.req;
  context
    .get('metrics')
    ?.http.requestSeconds.observe({ method: knownMethod(method), route, status }, seconds);
  const fields = {
    requestId: context.get('requestId'),
    method,
    path,
    query: safeQuery(url),
    route,
    status,
    ms: round(seconds * 1000),
  };
  if (status < 400) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function knownMethod(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

/** The query string with the values of secrets blotted out. */
function safeQuery(url: string): string | undefined {
  const start = url.indexOf('?');
  if (start === -1) return undefined;
  const query = new URLSearchParams(url.slice(start + 1));
  for (const name of new Set(query.keys())) if (SECRET_NAME.test(name)) query.set(name, 'redacted');
  return query.toString();
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
