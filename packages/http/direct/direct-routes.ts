import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { RouteContext, ServerBindings } from '../app/context.ts';
import type { RequestFrame } from '../app/request-frame.ts';
import { DirectContext } from './direct-context.ts';

export type DirectHandler = (context: RouteContext) => Response | Promise<Response>;

/**
 * Routes for which a search and a web request would cost more than their own work.
 * Each must be a route of the app as well, with the same guards: whatever is unusual about a request goes that way.
 */
export class DirectRoutes {
  readonly #frame: RequestFrame;
  readonly #posts = new Map<string, DirectHandler>();

  constructor(frame: RequestFrame) {
    this.#frame = frame;
  }

  post(path: string, handler: DirectHandler): void {
    this.#posts.set(path, handler);
  }

  /** Answers the request if it is for one of these routes; says whether it is. */
  take(bindings: ServerBindings): boolean {
    const { method, url = '', headers } = bindings.incoming;
    const handler = method === 'POST' ? this.#posts.get(url) : undefined;
    if (handler === undefined || !isUsual(headers)) return false;
    void this.#answer(bindings, url, handler);
    return true;
  }

  async #answer(bindings: ServerBindings, path: string, handler: DirectHandler): Promise<void> {
    const startedAt = performance.now();
    const { incoming, outgoing } = bindings;
    const context = new DirectContext(bindings, path, this.#frame.begin(headerText(incoming.headers)));
    try {
      const response = await this.#responseTo(context, handler);
      if (response !== RESPONSE_ALREADY_SENT) await send(response, outgoing, context.get('standardHeaders'));
    } catch (error) {
      // The answer had begun already: all that can be said of the failure is that it ends here.
      context.get('logger').error({ err: error }, 'an answer broke off');
      outgoing.destroy();
    }
    this.#frame.record(context, { route: path, status: outgoing.statusCode, url: path, startedAt });
  }

  async #responseTo(context: RouteContext, handler: DirectHandler): Promise<Response> {
    try {
      return this.#frame.check(context) ?? (await handler(context));
    } catch (thrown) {
      return this.#frame.refuse(thrown, context);
    }
  }
}

const HOST = /^[\w.:[\]-]+$/;

/** A body of a known length, for a host that makes an address. */
function isUsual(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined && headers.host !== undefined && HOST.test(headers.host);
}

function headerText(headers: IncomingHttpHeaders): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' ? id : undefined;
}

async function send(
  response: Response,
  outgoing: ServerResponse,
  standard: Readonly<Record<string, string>>,
): Promise<void> {
  const body = response.body === null ? undefined : Buffer.from(await response.arrayBuffer());
  const length = body === undefined ? {} : { 'content-length': body.length };
  outgoing.writeHead(response.status, { ...standard, ...Object.fromEntries(response.headers), ...length });
  outgoing.end(body);
}
