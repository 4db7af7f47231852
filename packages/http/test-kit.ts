import { connect, type Socket } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import { type App, type AppOptions, createApp } from './app/app.ts';
import type { Logger } from './app/context.ts';
import { type RunningServer, type ServeOptions, serve } from './server/serve.ts';

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  fields: Record<string, unknown>;
  message: string;
}

/** A logger that keeps what it is given; children share the lines and add their own fields. */
export function collectingLogger(lines: LogLine[] = [], bound: Record<string, unknown> = {}) {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...bound, ...fields }, message });
  };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => collectingLogger(lines, { ...bound, ...fields }).logger,
  };
  return { logger, lines };
}

export interface TestCaller {
  id: string;
  role?: string;
}

export interface TestServer extends RunningServer {
  app: App<TestCaller>;
  lines: LogLine[];
}

/** The real app on a free port, stopped when the test ends. */
export async function startApp(
  addRoutes: (app: App<TestCaller>) => void,
  appOptions: Partial<AppOptions> = {},
  serveOptions: Partial<ServeOptions> = {},
): Promise<TestServer> {
  const { logger, lines } = collectingLogger();
  const app = createApp<TestCaller>({
    service: 'sample',
    version: '1.0.0',
    logger,
    renderError: (error) => ({ body: { code: error.code, message: error.message } }),
    health: () => ({ status: 200, body: { ok: true } }),
    anyBodyType: true,
    ...appOptions,
  });
  addRoutes(app);
  const server = await serve(app, {
    host: '127.0.0.1',
    port: 0,
    portVariable: 'SAMPLE_PORT',
    logger,
    ...serveOptions,
  });
  onTestFinished(() => server.stop(0));
  return { ...server, app, lines };
}

/** Waits for a condition, long enough for a busy machine. */
export function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return vi.waitFor(check, { timeout: 15_000, interval: 20 });
}

/** A TCP client that says exactly what it is told to. */
export interface RawClient {
  readonly socket: Socket;
  readonly received: string;
  readonly closed: Promise<void>;
  write(text: string | Uint8Array): void;
  /** Waits until what was received holds the text. */
  until(text: string): Promise<void>;
}

export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text) => {
    received += text;
  });
  // A connection that the server resets is one of the things tested.
  socket.on('error', () => socket.destroy());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => socket.once('connect', () => resolve()).once('error', reject));
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    get received() {
      return received;
    },
    closed,
    write: (text) => void socket.write(text),
    until: (text) =>
      eventually(() => {
        if (!received.includes(text)) throw new Error(`no "${text}" in: ${received.slice(-500)}`);
      }),
  };
}

/** A GET over a raw connection. */
export function getRequest(path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ host: 'sample', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
