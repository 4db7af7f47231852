import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditLog } from '@trunkline/audit';
import {
  ConfigError,
  defineOptions,
  type Environment,
  homeOptions,
  integer,
  type Logger,
  readOptions,
  secretReference,
  secretStoreOf,
  text,
  url,
} from '@trunkline/config';
import { createApp } from '@trunkline/http';
import { operatorAccess } from '@trunkline/identity';
import type { SettingsView } from '@trunkline/std';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { mountSettings } from './settings-routes.ts';

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };

const table = defineOptions(
  'sample',
  'Sample',
  {
    ...homeOptions,
    port: integer({ env: 'PORT', default: 1, doc: 'Port.' }),
    search: url({ env: 'SEARXNG_URL', doc: 'Search.', defaultDoc: 'no search' }),
    model: text({ env: 'LLM_MODEL', flag: '--model', doc: 'Model.' }),
    key: text({ env: 'LLM_API_KEY', secret: true, doc: 'Key.' }),
  },
  async ({ model, key }) => {
    if (model === 'guarded' && key === undefined)
      throw new ConfigError('Sample does not start:', ['set LLM_API_KEY']);
  },
);

function start(env: Environment = {}, argv: string[] = []) {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const operator = operatorAccess(home.path);
  const log = new AuditLog({ home: home.path, logger });
  onTestFinished(() => log.close());
  const app = createApp({
    service: 'sample',
    version: '1',
    logger,
    renderError: ({ code, message }) => ({ body: { code, message } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator, audit: log },
  });
  const secrets = secretStoreOf({ TRUNKLINE_HOME: home.path });
  mountSettings(app, {
    service: 'sample',
    home: home.path,
    operator,
    audit: log,
    secrets,
    settings: { table, env, argv },
  });
  const key = operator.secrets[0] ?? '';
  const call = async (changes?: object, headers: object = { 'x-operator-key': key }) => {
    const answer = await app.request('http://127.0.0.1/operator/settings', {
      method: changes ? 'PATCH' : 'GET',
      headers: { ...headers, 'content-type': 'application/json' },
      ...(changes && { body: JSON.stringify(changes) }),
    });
    const body = await answer.text();
    const view = (answer.status === 200 ? JSON.parse(body) : { settings: [] }) as SettingsView;
    const of = (name: string) => view.settings.find(({ variable }) => variable === name);
    return { status: answer.status, text: body, view, of };
  };
  const file = join(home.path, 'settings.yaml');
  const read = () => readOptions(table, { argv, env: { ...env, TRUNKLINE_HOME: home.path } });
  return { call, file, secrets, log, read };
}

it('shows each option with its source, and changes it; comments stay', async () => {
  const { call, file, read, log } = start({ LLM_MODEL: 'from-env' });
  const before = await call();
  expect(before.of('SEARXNG_URL')).toMatchObject({ value: null, source: 'default', defaultDoc: 'no search' });
  expect(before.of('LLM_MODEL')).toMatchObject({ value: 'from-env', source: 'environment' });
  expect(before.of('PORT')?.fixed).toContain('cannot stand in settings.yaml');
  writeFileSync(file, '# mine\nTRUNKLINE_OPEN: no # never\n');
  const after = await call({ SEARXNG_URL: 'http://user:sesame@127.0.0.1:8080' });
  expect(after.of('SEARXNG_URL')).toMatchObject({
    value: 'http://user:***@127.0.0.1:8080',
    source: 'settings.yaml',
  });
  expect(readFileSync(file, 'utf8')).toMatch(/^# mine\nTRUNKLINE_OPEN: no # never\nSEARXNG_URL: http/);
  expect(read()).toMatchObject({ search: 'http://user:sesame@127.0.0.1:8080', model: 'from-env' });
  expect((await call({ SEARXNG_URL: null })).of('SEARXNG_URL')?.source).toBe('default');
  expect(readFileSync(file, 'utf8')).toBe('# mine\nTRUNKLINE_OPEN: no # never\n');
  expect(log.list().map(({ action, subject }) => [action, subject])).toContainEqual([
    'settings.change',
    'SEARXNG_URL',
  ]);
});

it('puts secrets into the store, and never shows them', async () => {
  const { call, file, secrets, read, log } = start();
  const answer = await call({ LLM_API_KEY: 'sesame-key' });
  expect(answer.of('LLM_API_KEY')).toMatchObject({ value: 'set', source: 'settings.yaml' });
  expect(read().key).toBe('sesame-key');
  await call({ LLM_API_KEY: 'sesame-other' });
  expect(read().key).toBe('sesame-other');
  expect(secrets.list()).toHaveLength(1);
  expect(answer.text + readFileSync(file, 'utf8') + JSON.stringify(log.list())).not.toContain('sesame');
  await call({ LLM_API_KEY: null });
  expect([read().key, secrets.list()]).toEqual([undefined, []]);
});

it.each([
  [{ SEARXNG_ULR: 'http://x' }, 400, 'SEARXNG_ULR is not a setting; did you mean SEARXNG_URL?'],
  [{ SEARXNG_URL: 'x' }, 400, 'SEARXNG_URL cannot be this value; expected an address'],
  [{ TRUNKLINE_HOME: '/x' }, 400, 'it says where this file is'],
  [{ VOICE_PORT: '1' }, 400, 'find the service by it'],
  [{ LLM_MODEL: 'x' }, 409, '--model is set as a flag of the command line, which wins'],
  [{ LLM_MODEL: 1 }, 400, 'expected string'],
  [{ CHAT_BOT_TOKEN: 'sesame' }, 400, 'CHAT_BOT_TOKEN is a setting of another service'],
  [{ LLM_API_KEY: secretReference('nope') }, 400, 'there is no secret nope'],
])('refuses %j', async (changes, status, words) => {
  const { call, file } = start({}, ['--model', 'mine']);
  const answer = await call(changes);
  expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
  expect(existsSync(file)).toBe(false);
});

it('refuses settings with which the service would not start, with its words', async () => {
  const { call, file, secrets } = start();
  const refused = await call({ LLM_MODEL: 'guarded', SEARXNG_URL: 'http://127.0.0.1:9' });
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringMatching(/not start:.*set LLM_API_KEY/s),
  ]);
  expect(existsSync(file)).toBe(false);
  expect((await call({ LLM_MODEL: 'guarded', LLM_API_KEY: 'sesame' })).status).toBe(200);
  expect((await call({ LLM_API_KEY: null })).status).toBe(400);
  expect(secrets.list()).toHaveLength(1);
  writeFileSync(file, 'LLM_MODEL: guarded\n');
  expect((await call({ SEARXNG_URL: 'http://127.0.0.1:9' })).status).toBe(200);
});

it('says what is wrong with the file, and does not write over it', async () => {
  const { call, file, read } = start();
  writeFileSync(file, 'LLM_MODEL: x\nSEARXNG_URL: nowhere\nLLM_MODLE: y\n');
  const problem = `${file}:3:1: LLM_MODLE is not a setting; did you mean LLM_MODEL?`;
  expect((await call()).view.problem).toContain(problem);
  expect(await call({ LLM_MODEL: 'z' })).toMatchObject({
    status: 409,
    text: expect.stringContaining('LLM_MODLE'),
  });
  expect(read).toThrow(problem);
  writeFileSync(file, 'LLM_MODEL: x\nSEARXNG_URL: nowhere\n');
  expect(read).toThrow(`${file}:2:1: SEARXNG_URL is "nowhere"; expected an address`);
  writeFileSync(file, `LLM_API_KEY: ${secretReference('none')}\n`);
  expect(read).toThrow(`${file}:1:1: LLM_API_KEY: there is no secret none`);
});

it('is closed to everybody but the operator', async () => {
  const { call, file } = start();
  expect([401, 403]).toContain((await call(undefined, {})).status);
  expect([401, 403]).toContain((await call({ LLM_MODEL: 'x' }, {})).status);
  expect(existsSync(file)).toBe(false);
});

it('two changes at once both count', async () => {
  const { call, read } = start();
  const answers = await Promise.all([call({ LLM_MODEL: 'x' }), call({ SEARXNG_URL: 'http://127.0.0.1:9' })]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(read()).toMatchObject({ model: 'x', search: 'http://127.0.0.1:9' });
});

it.each(['---\n', 'null\n', '~\n', ''])('changes a file that holds only %j', async (text) => {
  const { call, file, read } = start();
  writeFileSync(file, text);
  expect((await call({ LLM_MODEL: null })).status).toBe(200);
  expect((await call({ LLM_MODEL: 'x' })).status).toBe(200);
  expect(read().model).toBe('x');
});

it('leaves nothing behind of a change that it refuses', async () => {
  const { call, file, secrets } = start();
  const text = 'SEARXNG_URL: nowhere\n';
  writeFileSync(file, text);
  const answer = await call({ LLM_API_KEY: 'sesame-key' });
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('SEARXNG_URL is')]);
  expect([secrets.list(), readFileSync(file, 'utf8')]).toEqual([[], text]);
  expect((await call({ LLM_API_KEY: 'sesame-key', SEARXNG_URL: null })).status).toBe(200);
});
