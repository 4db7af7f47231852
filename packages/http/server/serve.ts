import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '@trunkline/std';
import { type Logger, OpenStreams, type ServerBindings } from '../app/context.ts';
import { loadAdapter } from './adapter.ts';

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

/** Takes a connection; of its fields the server reads `remoteAddress`. */
export type AcceptConnection = (connection: Duplex & { remoteAddress?: string }) => void;

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Serves a connection that came by another way than the port. */
  accept: AcceptConnection;
  /** Takes no more requests, ends streams, lets requests under way finish within the limit; may be called again. */
  stop(graceMs?: number): Promise<void>;
}

/** What serve needs of an app. */
export interface ServableApp {
  fetch(request: Request, bindings: ServerBindings): Response | Promise<Response>;
}

const DEFAULT_TIMEOUTS: ServerTimeouts = { headersMs: 15_000, requestMs: 120_000, keepAliveMs: 15_000 };
/** How long a stream may go on after its caller lost access. */
export const ACCESS_CHECK_MS = 15_000;
const DEFAULT_GRACE_MS = 5_000;

/** Listens, and gives back the address and the way to stop. */
export async function serve(app: ServableApp, options: ServeOptions): Promise<RunningServer> {
  const streams = new OpenStreams(options.logger);
  const server = createHttpServer(app, options, streams);
  const connections = trackConnections(server);
  // Other processes change accounts, so it is looked up.
  const checking = setInterval(() => streams.endRevoked(), ACCESS_CHECK_MS).unref();
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${urlHost(options.host)}:${port}`,
    port,
    accept: (connection) => void server.emit('connection', connection),
    stop(graceMs = DEFAULT_GRACE_MS) {
      clearInterval(checking);
      stopped ??= stopServer(server, streams, connections, graceMs);
      return stopped;
    },
  };
}

function createHttpServer(app: ServableApp, options: ServeOptions, streams: OpenStreams): Server {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const listener = createListener(app, options.logger, streams);
  const server = createServer(
    {
      keepAlive: true,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, timeouts.headersMs),
    },
    listener,
  );
  server.on('checkContinue', (incoming, outgoing) => {
    continueWhenRead(incoming, outgoing);
    server.emit('request', incoming, outgoing);
  });
  return server;
}

type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

function createListener(app: ServableApp, logger: Logger, streams: OpenStreams): Listener {
  let listener: Listener | undefined;
  const load = async () => {
    const { getRequestListener } = await loadAdapter();
    const listen = getRequestListener(
      (request, bindings) => {
        const env = bindings as ServerBindings;
        env.streams = streams;
        env.received = request;
        return app.fetch(request, env);
      },
      { overrideGlobalObjects: false, errorHandler: (error) => refuse(error, logger) },
    );
    listener = (incoming, outgoing) => void listen(incoming, outgoing);
    return listener;
  };
  return (incoming, outgoing) => {
    if (listener !== undefined) return listener(incoming, outgoing);
    load().then(
      (loaded) => loaded(incoming, outgoing),
      (error: unknown) => {
        logger.error({ err: error }, 'failed to load the HTTP adapter');
        outgoing.writeHead(500, { 'content-type': 'text/plain' }).end(`${internalWords}\n`);
      },
    );
  };
}

/** A caller that sends `Expect: 100-continue` is asked for its body when a route reads it, after every guard. */
function continueWhenRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const read = incoming._read;
  incoming._read = (size) => {
    incoming._read = read;
    if (!outgoing.headersSent) outgoing.writeContinue();
    read.call(incoming, size);
  };
}

const internalWords = 'Something failed inside the service.';

/** For what never reached the app: a Host or path that makes no address. */
function refuse(error: unknown, logger: Logger): Response {
  const unusable = error instanceof Error && error.name === 'RequestError';
  if (!unusable) logger.error({ err: error }, 'request failed outside the app');
  const words = unusable ? 'The request has no usable Host or path.' : internalWords;
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
  // Callers within this process hear of the end of their connections a turn later, and would use them for the next server.
  await nextTurn();
}

/** An address that can be opened: a server on every interface is reached through loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

interface Connections {
  /** Closes idle connections now and busy ones after their answer. */
  closeWhenIdle(): void;
  destroyAll(): void;
}

/** Knows which connections carry a request; Node itself does not count those that never sent one as idle. */
function trackConnections(server: Server): Connections {
  const busy = new Map<Socket, ServerResponse[]>();
  let stopping = false;
  server.on('connection', (socket) => {
    busy.set(socket, []);
    socket.once('close', () => busy.delete(socket));
  });
  server.on('request', (request, response) => {
    const responses = busy.get(request.socket);
    responses?.push(response);
    if (stopping) response.shouldKeepAlive = false;
    response.on('close', () => {
      responses?.splice(responses.indexOf(response), 1);
      if (stopping && responses?.length === 0) endConnection(request.socket);
    });
  });
  return {
    closeWhenIdle() {
      stopping = true;
      for (const [socket, responses] of busy) {
        for (const response of responses) response.shouldKeepAlive = false;
        if (responses.length === 0) socket.destroy();
      }
    },
    destroyAll() {
      for (const socket of busy.keys()) socket.destroy();
    },
  };
}

/** After what was written to it. One that came by another way than the port is no socket, and lacks `destroySoon`. */
function endConnection(connection: Socket | Duplex): void {
  if ('destroySoon' in connection) connection.destroySoon();
  else connection.end();
}

/** Why a server could not start, in words that name the setting to change. */
export class StartError extends CodedError<string> {
  override readonly name = 'StartError';
}

type ListenTarget = Pick<ServeOptions, 'host' | 'port' | 'portVariable'>;

export function toStartError(cause: NodeJS.ErrnoException, target: ListenTarget): StartError {
  const { host, port, portVariable } = target;
  const failed = (code: string, message: string) => new StartError(code, message, { cause });
  switch (cause.code) {
    case 'EADDRINUSE':
      return failed(
        'port_taken',
        `Port ${port} on ${host} is already in use. Stop the program that has it, or set ${portVariable} to another port.`,
      );
    case 'EACCES':
      return failed(
        'port_forbidden',
        `This user may not listen on port ${port}. Set ${portVariable} to a port of 1024 or above.`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return failed(
        'host_unavailable',
        `${host} is not an address of this machine, so port ${port} cannot be opened on it. Set the host to 127.0.0.1 or 0.0.0.0.`,
      );
    default:
      return failed('listen_failed', `Port ${port} on ${host} could not be opened: ${cause.message}.`);
  }
}
