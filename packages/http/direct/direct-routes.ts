import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Next } from 'hono';
import type { RouteContext, ServerBindings } from '../app/context.ts';
import type { RequestFrame } from '../app/request-frame.ts';
import { DirectContext } from './direct-context.ts';

/** A guard or a route of the app. */
export type ChainLink = (context: Context, next: Next) => unknown;

export interface DirectRoutesOptions {
  frame: RequestFrame;
  /** The guards and the route that the app has for a POST to a path, in order, without the frame. */
  chainOf(path: string): readonly ChainLink[];
}

/**
 * Routes of the app for which a search and a web request would cost more than their own work: the same guards and handlers,
 * on a context that has only what `RouteContext` promises. Whatever is unusual about a request goes through the app.
 */
export class DirectRoutes {
  readonly #options: DirectRoutesOptions;
  readonly #chains = new Map<string, readonly ChainLink[] | undefined>();

  constructor(options: DirectRoutesOptions) {
    this.#options = options;
  }

  /** From now on a POST to that path is asked directly. */
  post(path: string): void {
    this.#chains.set(path, undefined);
  }

  /** Answers the request if it is for one of these routes; says whether it is. */
  take(bindings: ServerBindings): boolean {
    const { method, url = '', headers } = bindings.incoming;
    if (method !== 'POST' || !this.#chains.has(url) || !isUsual(headers)) return false;
    void this.#answer(bindings, url);
    return true;
  }

  async #answer(bindings: ServerBindings, path: string): Promise<void> {
    const startedAt = performance.now();
    const { frame } = this.#options;
    const { incoming, outgoing } = bindings;
    const context = new DirectContext(
      bindings,
      path,
      frame.begin({ header: (name) => headerText(incoming.headers, name) }),
    );
    try {
      const response = await this.#responseTo(context, path);
      if (response !== RESPONSE_ALREADY_SENT) await send(response, outgoing, context.get('standardHeaders'));
    } catch (error) {
      // The answer had begun already: all that can be said of the failure is that it ends here.
      context.get('logger').error({ err: error }, 'an answer broke off');
      outgoing.destroy();
    }
    frame.record(context, { route: path, status: outgoing.statusCode, url: path, startedAt });
  }

  async #responseTo(context: RouteContext, path: string): Promise<Response> {
    const { frame } = this.#options;
    try {
      return frame.check(context) ?? (await follow(this.#chainOf(path), context));
    } catch (thrown) {
      return frame.refuse(thrown, context);
    }
  }

  /** Looked up when it is first needed, as guards may be added after the route. */
  #chainOf(path: string): readonly ChainLink[] {
    const known = this.#chains.get(path);
    if (known !== undefined) return known;
    const chain = this.#options.chainOf(path);
    this.#chains.set(path, chain);
    return chain;
  }
}

/** The answer of the first that does not hand on to the next. */
async function follow(chain: readonly ChainLink[], context: RouteContext): Promise<Response> {
  const [link, ...rest] = chain;
  if (link === undefined) throw new Error('A direct route handed on, and nothing comes after it.');
  let answer: Response | undefined;
  const next = async () => {
    answer = await follow(rest, context);
  };
  const own = await link(context as Context, next);
  if (own instanceof Response) return own;
  if (answer === undefined) throw new Error('A guard of a direct route neither answered nor handed on.');
  return answer;
}

const HOST = /^[\w.:[\]-]+$/;

/** A body of a known length, for a host that makes an address. */
function isUsual(headers: IncomingHttpHeaders): boolean {
  return headers['content-length'] !== undefined && headers.host !== undefined && HOST.test(headers.host);
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : value;
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
