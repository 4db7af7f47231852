import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { ServerBindings } from '../app/context.ts';
import type { Logger } from '../app/logger.ts';
import { type Connections, trackConnections } from './connections.ts';
import { OpenStreams } from './open-streams.ts';
import { toStartError } from './start-error.ts';

export interface ServeOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** The variable or flag that sets the port, named when the port is taken. */
  portVariable: string;
  logger: Logger;
  timeouts?: Partial<ServerTimeouts>;
}

interface ServerTimeouts {
  /** Until the headers of a request are there. */
  headersMs: number;
  /** Until the whole request is there; answers, streams among them, may take any time. */
  requestMs: number;
  /** How long an idle connection is kept. */
  keepAliveMs: number;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, ends streams, lets requests under way finish within the limit; may be called again. */
  stop(graceMs?: number): Promise<void>;
}

/** What serve needs of an app. */
export interface ServableApp {
  fetch(request: Request, bindings: ServerBindings): Response | Promise<Response>;
}

const DEFAULT_TIMEOUTS: ServerTimeouts = { headersMs: 15_000, requestMs: 120_000, keepAliveMs: 15_000 };
const DEFAULT_GRACE_MS = 5_000;

/** Listens, and gives back the address and the way to stop. */
export async function serve(app: ServableApp, options: ServeOptions): Promise<RunningServer> {
  const streams = new OpenStreams();
  const server = createHttpServer(app, options, streams);
  const connections = trackConnections(server);
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${urlHost(options.host)}:${port}`,
    port,
    stop(graceMs = DEFAULT_GRACE_MS) {
      stopped ??= stopServer(server, streams, connections, graceMs);
      return stopped;
    },
  };
}

function createHttpServer(app: ServableApp, options: ServeOptions, streams: OpenStreams): Server {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const listener = getRequestListener(
    (request, bindings) => app.fetch(request, Object.assign(bindings, { streams }) as ServerBindings),
    { overrideGlobalObjects: false, errorHandler: (error) => refuse(error, options.logger) },
  );
  return createServer(
    {
      keepAlive: true,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
}

/** For what never reached the app: a Host or path that makes no address. */
function refuse(error: unknown, logger: Logger): Response {
  const unusable = error instanceof Error && error.name === 'RequestError';
  if (!unusable) logger.error({ err: error }, 'request failed outside the app');
  const words = unusable ? 'The request has no usable Host or path.' : 'Something failed inside the service.';
  return new Response(`${words}\n`, { status: unusable ? 400 : 500 });
}

function listen(server: Server, options: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(toStartError(error, options)));
    server.listen({ port: options.port, host: options.host }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) => options.logger.error({ err: error }, 'server failed'));
      resolve();
    });
  });
}

async function stopServer(
  server: Server,
  streams: OpenStreams,
  connections: Connections,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  streams.endAll();
  connections.closeWhenIdle();
  const timer = setTimeout(() => connections.destroyAll(), graceMs);
  await closed;
  clearTimeout(timer);
}

/** An address that can be opened: a server on every interface is reached through loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
