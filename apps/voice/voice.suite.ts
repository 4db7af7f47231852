import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Logger, readOptions } from '@trunkline/config';
import { findIsolation } from '@trunkline/sandbox';
import type { Peers } from '@trunkline/service';
import { temporaryDirectory } from '@trunkline/testing';
import { onTestFinished } from 'vitest';
import { launch } from './app.ts';
import type { Substitutes } from './components.ts';
import { voiceOptions } from './options.ts';

interface LogLine {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

export interface VoiceSetup {
  env?: Record<string, string>;
  /** Put into the configuration directory before the start, by path. */
  files?: Record<string, string>;
  /** The home of an earlier run. */
  home?: string;
  /** The services that run beside it. */
  peers?: Peers;
  /** Put in the place of the real thing. */
  substitutes?: Substitutes;
}

/** The whole service on a free port with a home of its own, stopped when the test ends. */
export async function startVoice(setup: VoiceSetup = {}) {
  const { env = {}, files = {}, home = temporaryHome(), peers, substitutes } = setup;
  const config = join(home, 'voice', 'config');
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(config, path)), { recursive: true });
    writeFileSync(join(config, path), text);
  };
  for (const [path, text] of Object.entries(files)) put(path, text);
  const environment = {
    // Where the machine has no sandbox, programs run without one.
    ...((await findIsolation()).kind === 'none' && { TRUNKLINE_SANDBOX: 'off' }),
    TRUNKLINE_HOME: home,
    PORT: '0',
    TRUNKLINE_OPEN: '1',
    SEARXNG_URL: 'http://127.0.0.1:9',
    ...env,
  };
  const lines: LogLine[] = [];
  const options = readOptions(voiceOptions, { env: environment });
  const context = { logger: collectingLogger(lines), env: environment, ...(peers && { peers }) };
  const { service, voice } = await launch(options, context, substitutes);
  onTestFinished(() => service.stop());
  return { ...service, voice, home, config, put, lines, ...clientOf(service.url) };
}

export type TestVoice = Awaited<ReturnType<typeof startVoice>>;

function temporaryHome(): string {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  return path;
}

/** Requests with an answer that tests can compare at once. */
function clientOf(url: string) {
  const ask = async (path: string, init: RequestInit, key?: string) => {
    const headers = {
      ...(typeof init.body === 'string' && { 'content-type': 'application/json' }),
      ...(key && { 'x-api-key': key }),
      ...(init.headers as Record<string, string>),
    };
    const response = await fetch(url + path, { ...init, headers });
    const text = await response.text();
    return { status: response.status, body: jsonOf(text), headers: response.headers };
  };
  return {
    ask,
    get: (path: string, key?: string) => ask(path, {}, key),
    post: (path: string, body: unknown, key?: string) => ask(path, json(body), key),
    patch: (path: string, body: unknown, key?: string) => ask(path, { ...json(body), method: 'PATCH' }, key),
    delete: (path: string, key?: string) => ask(path, { method: 'DELETE' }, key),
    /** The text of an answer to a message over A2A. */
    async say(text: string, more: { key?: string; contextId?: string } = {}) {
      const { key, contextId } = more;
      const message = { role: 'user', parts: [{ kind: 'text', text }], ...(contextId && { contextId }) };
      const { body } = await ask(
        '/a2a',
        json({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
        key,
      );
      return body.result?.artifacts?.[0]?.parts?.[0]?.text as unknown as string;
    },
  };
}

export function json(body: unknown): RequestInit {
  return {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
}

/** An answer of any shape: its parts are reached by their names, and compared as they are. */
export interface Parts {
  readonly [name: string]: Parts;
}

/** What is no JSON stays a text. */
function jsonOf(text: string): Parts {
  try {
    return JSON.parse(text);
  } catch {
    return text as unknown as Parts;
  }
}

function collectingLogger(lines: LogLine[]): Logger {
  const at = (level: string) => (first: object | string, message?: string) => {
    const fields = typeof first === 'string' ? {} : { ...first };
    lines.push({ level, fields, message: typeof first === 'string' ? first : (message ?? '') });
  };
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  };
  return logger;
}
