import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startAnswering } from '../../tools/answering-server.suite.ts';
import { callTool } from '../../tools/call-tool.suite.ts';
import { type OpenPlugins, openPlugins } from '../open-plugins.ts';
import { findExternalPlugins } from './external-plugins.ts';
import { mayFetch } from './plugin-process.ts';

let home = temporaryDirectory();
let plugins: OpenPlugins | undefined;
let said: string[] = [];
const log = (_fields: object, message: string) => void said.push(message);
const logger = { info: log, warn: log, error: log };

const entry = `export default (host) => ({
  tools: [
    { name: 'shout', description: 'shouts', parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      execute: ({ text }) => text.toUpperCase() },
    { name: 'attempt', description: 'tries what is not allowed', parameters: { type: 'object', properties: { what: { type: 'string' } } },
      execute: ({ what }) => attempts[what](host) },
  ],
});
const attempts = {
  read: async () => (await import('node:fs')).readFileSync('/etc/passwd', 'utf8'),
  write: async () => (await import('node:fs')).writeFileSync(new URL('./x', import.meta.url), 'x'),
  own: async () => (await import('node:fs')).readFileSync(new URL('./plugin.yaml', import.meta.url), 'utf8').slice(0, 3),
  spawn: async () => (await import('node:child_process')).execSync('id'),
  net: async () => (await import('node:net')).connect(80, 'localhost'),
  http: async () => (await import('http')).get('http://localhost'),
  builtin: () => process.getBuiltinModule('net').connect(80),
  global: () => fetch('http://localhost'),
  socket: () => new WebSocket('ws://localhost'),
  require: async () => (await import('node:module')).createRequire(import.meta.url)('net'),
  worker: async () => (await import('node:worker_threads')),
  env: () => JSON.stringify(Object.keys(process.env).filter((name) => !name.startsWith('NODE_')).sort()),
  kill: () => process.exit(3),
  late: () => new Promise((resolve) => setTimeout(resolve, 200, process.pid)),
  spin: () => { for (;;); },
  babble: async () => { (await import('node:fs')).writeSync(3, 'null\\n{"type":"ready","tools":5}\\n{"type":"fetch-start","id":"x"}\\n'); return 'said'; },
  fail: () => { throw new Error('no luck'); },
  allowed: async (host) => { const answer = await host.fetch(process.env.SERVICE_URL + '/data'); return answer.status + ' ' + answer.text; },
  elsewhere: (host) => host.fetch('http://localhost:1/'),
};`;

function install(id: string, more = '', source = entry): void {
  const directory = join(home.path, id);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'plugin.yaml'), `id: ${id}\ndescription: tries\ntimeout_s: 2\n${more}`);
  writeFileSync(join(directory, 'index.js'), source);
}

async function open(env: Record<string, string> = {}) {
  const found = await findExternalPlugins({
    directory: home.path,
    env,
    fetch: { allowedCidrs: ['127.0.0.0/8'] },
    logger,
  });
  plugins = await openPlugins(found, { enabled: ['box', 'broken', 'gone'], disabled: [] }, { logger });
  return plugins;
}
const call = (name: string, input: object) =>
  callTool(plugins!.tools.find((tool) => tool.name === name)!, input);
const attempt = (what: string) => call('box_attempt', { what });

/** The processes whose command names the path; the plugin itself may see process ids of its own. */
function processesOf(path: string): string[] {
  const listed = execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' });
  return listed.split('\n').filter((line) => line.includes(path));
}

beforeEach(() => {
  home = temporaryDirectory();
  said = [];
});
afterEach(async () => {
  await plugins?.close();
  plugins = undefined;
  home.remove();
});

describe('a plugin from the directory', () => {
  it('offers tools once it is enabled', async () => {
    install('box');
    install('other');
    const { states } = await open();
    expect(states).toMatchObject([
      { id: 'box', state: 'on', tools: ['box_shout', 'box_attempt'] },
      { id: 'other', state: 'off', tools: [] },
    ]);
    expect(said).toContain('unknown plugin enabled');
    expect(await call('box_shout', { text: 'hello' })).toBe('HELLO');
    await expect(call('box_shout', {})).rejects.toThrow(z.ZodError);
    expect(await attempt('fail')).toBe('Error: no luck');
    expect(await attempt('own')).toBe('id:');
    expect(await attempt('babble')).toBe('said');
  });

  it('may die while the service is busy: calls fail in words, the next one works, and the service lives', async () => {
    install('box');
    await open();
    const dying = attempt('kill');
    await setImmediate();
    // Whatever the system says of the process cannot be heard meanwhile.
    execFileSync('sleep', ['0.4']);
    const calls = [1, 2, 3].map(() => call('box_shout', { text: 'x' }));
    for (const words of await Promise.all([dying, ...calls]))
      expect(words).toBe('Error: the plugin box has stopped.');
    expect(await call('box_shout', { text: 'again' })).toBe('AGAIN');
  });

  it('ends its calls when the settings change, and leaves no process behind', async () => {
    install('box');
    await open();
    const running = attempt('late');
    expect(processesOf(home.path).length).toBeGreaterThan(0);
    const held = plugins!.tools.find(({ name }) => name === 'box_attempt')!;
    await plugins!.close();
    const words = [await running, await callTool(held, { what: 'late' })];
    expect(words).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)]);
    await waitFor(() => processesOf(home.path).length === 0);
  });

  it('may do nothing that its manifest does not allow', async () => {
    install('box', 'permissions:\n  environment: [GIVEN]\n');
    await open({ GIVEN: 'yes', SECRET: 'no' });
    for (const what of [
      'read',
      'write',
      'spawn',
      'net',
      'http',
      'builtin',
      'global',
      'socket',
      'require',
      'worker',
      'elsewhere',
    ])
      expect(await attempt(what), what).toMatch(/^Error: /);
    expect(await attempt('elsewhere')).toContain('its manifest does not list it');
    expect(await attempt('env')).toBe('["GIVEN"]');
  });

  it('reaches the hosts that its manifest lists, through the guarded fetch', async () => {
    const server = await startAnswering(() => ({ body: 'data' }));
    install('box', 'permissions:\n  network: [127.0.0.1]\n  environment: [SERVICE_URL]\n');
    await open({ SERVICE_URL: server.url });
    expect(await attempt('allowed')).toBe('200 data');
    server.stop();
  });

  it('may die or spin: the call fails in words and the next one works', async () => {
    install('box');
    await open();
    expect(await attempt('kill')).toBe('Error: the plugin box has stopped.');
    expect(await call('box_shout', { text: 'still' })).toBe('STILL');
    expect(await attempt('spin')).toBe('Error: the plugin box took longer than 2 s.');
    expect(await call('box_shout', { text: 'here' })).toBe('HERE');
  });

  it('is named when it cannot be used, and the others run', async () => {
    install('box');
    install('broken', '', 'throw new Error("bad start")');
    install('odd', 'unknown_key: 1\n');
    const { states } = await open();
    expect(states.map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ['box', 'on', undefined],
      ['broken', 'failed', 'bad start'],
    ]);
    expect(said).toContain('failed to read plugin manifest');
  });

  it('need not be there at all', async () => {
    expect(await findExternalPlugins({ directory: join(home.path, 'none'), logger })).toEqual([]);
  });
});

it('matches hosts exactly or below a star', () => {
  const may = (url: string) => mayFetch(new URL(url), ['api.example.com', '*.cdn.net']);
  expect(
    [
      'https://API.example.com/',
      'https://a.cdn.net/',
      'https://example.com/',
      'https://cdn.net/',
      'https://evilcdn.net/',
    ].map(may),
  ).toEqual([true, true, false, false, false]);
});
