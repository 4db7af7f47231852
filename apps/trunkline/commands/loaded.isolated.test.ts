import { join } from 'node:path';
import { startChild, temporaryHome } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
/** The sources themselves: the launcher may run a bundle of them, which has most of the libraries in it. */
const sources = join(import.meta.dirname, '../main.ts');

/** What a start may load; a library that only some users or some requests need is imported when they come. */
const librariesOfAStart = [
  '@a2a-js/sdk',
  '@ai-sdk/gateway',
  '@ai-sdk/provider',
  '@ai-sdk/provider-utils',
  '@hono/node-server',
  '@hono/standard-validator',
  '@opentelemetry/api',
  '@pinojs/redact',
  '@standard-community/standard-json',
  '@standard-community/standard-openapi',
  '@vercel/oidc',
  '@workflow/serde',
  'ai',
  'atomic-sleep',
  'bintrees',
  'chokidar',
  'croner',
  'eventsource-parser',
  'hono',
  'hono-openapi',
  'jose',
  'on-exit-leak-free',
  'pino',
  'pino-std-serializers',
  'prom-client',
  'quansync',
  'quick-format-unescaped',
  'readdirp',
  'safe-stable-stringify',
  'sonic-boom',
  'tdigest',
  'thread-stream',
  'yaml',
  'zod',
];

const home = temporaryHome();
let ofSources: string;
let first: string;
let second: string;

beforeAll(async () => {
  ofSources = await startAndStop(sources, { NODE_COMPILE_CACHE: join(home.path, 'compiled') });
  first = await startAndStop(launcher);
  second = await startAndStop(launcher);
});
afterAll(() => home.remove());

describe('a start of all four services', () => {
  it('loads no library that only some users or some requests need', () => {
    const paths = files(
      ofSources,
      /^\[compile cache\] reading cache from \S+ for (?:ESM|CommonJS) (\S+)\.\.\./gm,
    );
    const libraries = paths.map((path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? 'ours');
    const unknown = libraries.filter((name) => name !== 'ours' && !librariesOfAStart.includes(name));
    expect(libraries).toEqual(expect.arrayContaining(['ours', 'hono', 'zod']));
    expect([...new Set(unknown)].sort()).toEqual([]);
  });

  it('compiles nothing again that the start before has compiled, in threads either', () => {
    const compiled = /^\[compile cache\] V8 code cache for ESM (\S+) was not initialized/gm;
    const before = files(first, compiled);
    const again = files(second, compiled).filter((path) => before.includes(path));
    expect(before).toContainEqual(expect.stringMatching(/journal\/worker\.ts$|\.trunkline\/worker-[^/]+$/));
    expect(again).toEqual([]);
  });
});

/** With Node telling which files it looks up among those compiled before. */
async function startAndStop(program: string, more: Record<string, string> = {}): Promise<string> {
  const child = startChild(program, { arguments: ['up'], environment: { ...environment(), ...more } });
  await child.waitForLine('Ctrl-C stops everything', 180_000);
  expect(await child.kill('SIGINT')).toMatchObject({ code: 0 });
  return child.output();
}

function environment(): Record<string, string> {
  return {
    ...home.environment,
    VOICE_PORT: '0',
    AGENT_PORT: '0',
    RESEARCH_PORT: '0',
    SWITCHBOARD_PORT: '0',
    LLM_GATEWAY_URL: '',
    TMPDIR: home.path,
    NODE_COMPILE_CACHE: '',
    NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
  };
}

function files(output: string, line: RegExp): string[] {
  return [...output.matchAll(line)].map(([, path]) => path ?? '');
}
