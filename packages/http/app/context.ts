import type { HttpBindings } from '@hono/node-server';
import type { AccountAccess, Principal, PrincipalCheck } from '@trunkline/identity';
import { Roster } from '@trunkline/std';
import { getPath } from 'hono/utils/url';
import type { Metrics } from '../metrics/metrics.ts';

export interface ServerBindings extends HttpBindings {
  streams: OpenStreams;
  /** The request as it came from the connection; one that a handler makes itself may have other headers. */
  received?: Request;
}

/** The same for all requests of an app. */
export interface KitContext {
  metrics: Metrics | undefined;
  /** Names of the internet by which the service is asked for although it has no key. */
  allowedHosts: readonly string[];
  /** Checks the principal that one of our services signed into a message; undefined for a service without peers. */
  checkPrincipal: ((given: unknown, message: string) => PrincipalCheck) | undefined;
  /** The people of this installation; undefined where there are none. */
  accounts: AccountAccess | undefined;
  /** Bounds how many keys can be guessed; see `tryKeys`. */
  keyLimits: KeyLimits;
}

interface KitVariables {
  requestId: string;
  logger: Logger;
  /** Undefined in a Hono app that is not one of the kit. */
  kit: KitContext | undefined;
  /** Headers that this answer carries whoever writes it; middleware adds to them. */
  standardHeaders: Record<string, string>;
  /** On whose behalf the request is made. A caller guard names those who show a key of the service. */
  principal: Principal;
  /** Set by the A2A guard: one of our services came in, and its message has to say on whose behalf. */
  awaitsPrincipal?: boolean;
  /** Whether the caller would still be let in with the same rights; asked again and again while a stream is open. */
  stillStands: () => boolean;
  /** What a change was about, in words, for the audit log. */
  change?: string;
  /** Set by `requireOperator`: a change through this route belongs into the audit log. */
  operatorRoute?: boolean;
}

interface KeyLimits {
  /** Throws while keys from the address of the request are not looked at. */
  refusePaused(context: RequestContext): void;
  countWrong(context: RequestContext, key: string): void;
}

/** The Hono environment of an app: `c.get('caller')` has the type the service chose. */
export interface AppEnv<Caller = unknown> {
  Bindings: ServerBindings;
  Variables: KitVariables & {
    /** Who is calling, set by a caller guard. */
    caller: Caller;
  };
}

/** What the kit's helpers need of a Hono context, whatever its caller type, path or input. */
export interface RequestContext {
  readonly env: ServerBindings;
  get<Name extends keyof KitVariables>(name: Name): KitVariables[Name];
  readonly req: {
    readonly method: string;
    readonly path: string;
    readonly url: string;
    /** What was read of the body. */
    readonly bodyCache: object;
    header(name: string): string | undefined;
    header(): Record<string, string>;
    text(): Promise<string>;
  };
}

/** What a route that reads its body as text needs of a Hono context. */
export interface RouteContext extends RequestContext {
  readonly req: RequestContext['req'] & {
    query(name: string): string | undefined;
  };
}

/** The part of a pino logger that the kit uses. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: Record<string, unknown>): Logger;
  /** A text for an answer without the secrets that no line may show, save those that the request brought itself. */
  hide?(text: string, brought: string): string;
}

/** Looks at a request before any route does, and throws to refuse it. */
export type RequestCheck = (context: RequestContext) => void;

/** A response that is still being written; the server ends it when it stops. */
export interface OpenStream {
  end(): void;
}

/** A stream that can be cut off at once, whatever its reader has not taken. */
interface CutStream extends OpenStream {
  destroy(): void;
}

/** Whose stream it is, and how many of theirs may be open. */
export interface StreamOwner {
  key: string;
  most: number;
}

interface Tracked {
  stream: OpenStream;
  stillStands: () => boolean;
}

/** The open streams of a server. After `endAll`, a new stream is ended as soon as it was added. */
export class OpenStreams {
  readonly #streams = new Roster<Tracked>();
  /** Requests that have no whole answer yet, such as long polls. */
  readonly #waiting = new Roster<Tracked>();
  /** The oldest first. */
  readonly #ofOwner = new Map<string, Set<CutStream>>();
  readonly #logger: Pick<Logger, 'warn'>;
  #ended = false;

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  /** Returns the function that forgets it. */
  add(stream: OpenStream, stillStands: () => boolean): () => void {
    if (this.#ended) setImmediate(() => stream.end());
    return this.#streams.add({ stream, stillStands });
  }

  /**
   * Counts a stream among those of its owner and cuts off the oldest beyond the limit: each costs work with every event, and
   * memory where nobody reads it. Returns the function that forgets it.
   */
  bound(stream: CutStream, { key, most }: StreamOwner): () => void {
    const own = this.#ofOwner.get(key) ?? new Set();
    this.#ofOwner.set(key, own.add(stream));
    const [oldest] = own;
    if (own.size > most && oldest !== undefined) {
      this.#logger.warn({ caller: key, most }, 'too many open streams of one caller; the oldest is cut off');
      own.delete(oldest);
      oldest.destroy();
    }
    return () => {
      own.delete(stream);
      if (own.size === 0 && this.#ofOwner.get(key) === own) this.#ofOwner.delete(key);
    };
  }

  /** A request that `endAll` lets finish. Returns the function that forgets it. */
  wait(stream: OpenStream, stillStands: () => boolean): () => void {
    return this.#waiting.add({ stream, stillStands });
  }

  /** Ends the streams and requests whose caller has lost access since. */
  endRevoked(): void {
    for (const { stream, stillStands } of [...this.#streams.all(), ...this.#waiting.all()])
      if (this.#isRevoked(stillStands)) stream.end();
  }

  endAll(): void {
    this.#ended = true;
    for (const { stream } of this.#streams.all()) stream.end();
  }

  /** Asked by a timer, where an error would end the process: a full disk or a locked file takes nobody's access. */
  #isRevoked(stillStands: () => boolean): boolean {
    try {
      return !stillStands();
    } catch (error) {
      this.#logger.warn({ err: error }, 'failed to check access; retrying');
      return false;
    }
  }
}

/** By hand: `/\/+$/` goes over every run of slashes in the path, and this runs before anything is checked. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** A REST path of A2A with a tenant in it; `v1` is the older form, `tasks` a resource. */
const tenantPath = /^\/a2a\/(?!v1\/|tasks\/)([^/]+)(\/(?:message:|tasks(?:\/|$)|extendedAgentCard).*)$/;

export function withoutTenant(path: string): string {
  if (!path.startsWith('/a2a/')) return path;
  const [, , rest] = tenantPath.exec(path) ?? [];
  return rest === undefined ? path : `/a2a${rest}`;
}

/** The tenant of A2A that the address of a request names, in the path that routes see. */
export function tenantIn(request: Request): string | undefined {
  const [, tenant] = tenantPath.exec(getPath(request)) ?? [];
  if (tenant === undefined) return undefined;
  // Unlike decodeURIComponent, this takes a wrong escape as it is.
  return (
    new URLSearchParams(`tenant=${tenant.replace(/[+&]/g, encodeURIComponent)}`).get('tenant') ?? undefined
  );
}
