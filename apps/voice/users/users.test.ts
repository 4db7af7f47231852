import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonServer, startInfisical } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { UserDirectory } from './directory.ts';
import { createRosterMarker, createSecretsSource, type RosterSource } from './roster-sources.ts';

const roster = `users:
  - {id: ada, api_key: ada-key, display_name: Ada, role: admin}
  - {id: ben, api_key: ben-key, allowed_skills: [chef]}
`;

describe('who is calling', () => {
  it('answers whoami in single-user mode to anyone [V010][V011][V015][V020][V075][V104]', async () => {
    const voice = await startVoice();
    const expected = {
      id: 'default',
      display_name: 'Default',
      role: 'admin',
      allowed_skills: null,
      pinned_viz: null,
      auth_source: 'empty',
    };
    expect((await voice.get('/api/whoami')).body).toEqual(expected);
    expect((await voice.get('/api/whoami', 'anything')).body).toEqual(expected);
    expect((await voice.get('/healthz')).body).toMatchObject({ auth_source: 'empty', user_count: 0 });
  });

  it('asks for the operator once settings.yaml has a key of a service, also before a restart and while the file is broken', async () => {
    const voice = await startVoice({ env: { TRUNKLINE_OPEN: '0' } });
    const file = join(voice.home, 'settings.yaml');
    const status = async () => (await voice.get('/api/whoami')).status;
    expect(await status()).toBe(200);
    for (const name of [
      'A2A_AUTH_TOKEN',
      'RESEARCH_AUTH_TOKEN',
      'SWITCHBOARD_API_KEY',
      'CORE_OPERATOR_TOKEN',
    ]) {
      writeFileSync(file, `${name}: \${secret:none}\n`);
      expect([name, await status()]).toEqual([name, 401]);
      writeFileSync(file, `${name}: [`);
      expect([name, await status()]).toEqual([name, 401]);
    }
    writeFileSync(file, '');
    expect(await status()).toBe(200);
  });

  it('takes the key of either header, and X-API-Key first [V003][V101]', async () => {
    const voice = await startVoice({ files: { 'users.yaml': roster } });
    const who = async (headers: Record<string, string>) =>
      (await voice.ask('/api/whoami', { headers })).body.id;
    expect(await who({ 'x-api-key': 'ben-key' })).toBe('ben');
    expect(await who({ authorization: 'Bearer ada-key' })).toBe('ada');
    expect(await who({ 'x-api-key': 'ben-key', authorization: 'Bearer ada-key' })).toBe('ben');
    expect(
      (await voice.ask('/api/whoami', { headers: { 'x-api-key': 'no', authorization: 'Bearer ada-key' } }))
        .status,
    ).toBe(401);
    expect((await voice.get('/healthz')).body).toMatchObject({ auth_source: 'file', user_count: 2 });
  });

  it('shows of a roster record what whoami names, never the key or anything else [V021]', async () => {
    const record = 'id: ada, api_key: ada-key, role: admin, nickname: Countess';
    const voice = await startVoice({ files: { 'users.yaml': `users: [{${record}}]` } });
    const { body } = await voice.get('/api/whoami', 'ada-key');
    const fields = ['id', 'display_name', 'role', 'allowed_skills', 'pinned_viz', 'auth_source'];
    expect(Object.keys(body).sort()).toEqual(fields.sort());
    expect(JSON.stringify(body)).not.toMatch(/ada-key|Countess/);
  });

  it('puts variables into the file', async () => {
    const files = { 'users.yaml': `users: [{id: ada, api_key: "\${ADA_KEY}"}]` };
    const voice = await startVoice({ files, env: { ADA_KEY: 'from-env' } });
    expect((await voice.get('/api/whoami', 'from-env')).body.id).toBe('ada');
  });

  it('asks for keys from the moment the roster has a user [V065][V019][V076]', async () => {
    const voice = await startVoice();
    voice.put('users.yaml', roster);
    expect((await voice.post('/api/users/reload', {})).body).toEqual({
      ok: true,
      users: ['ada', 'ben'],
      source: 'file',
    });
    expect((await voice.get('/api/whoami')).status).toBe(401);
    expect((await voice.get('/api/whoami', 'ben-key')).body.allowed_skills).toEqual(['chef']);
  });

  it('keeps the roster when a reload finds a broken file, and names file and line', async () => {
    const voice = await startVoice({ files: { 'users.yaml': roster } });
    voice.put('users.yaml', 'users:\n  - id: [');
    const { status, body } = await voice.post('/api/users/reload', {}, 'ben-key');
    expect(status).toBe(200);
    expect(body.error).toMatch(/users\.yaml:2/);
    expect((await voice.get('/api/whoami', 'ada-key')).body.id).toBe('ada');
  });

  const directoryOf = async (file: Pick<RosterSource, 'read'>, retryMs?: number) => {
    const { voice, home } = await startVoice();
    const users = new UserDirectory({
      secrets: undefined,
      file: { origin: 'file', name: 'users.yaml', ...file },
      marker: createRosterMarker(home),
      logger: voice.context.service.logger,
      ...(retryMs && { retryMs }),
    });
    onTestFinished(() => users.stop());
    await users.start();
    return users;
  };

  it('lets nobody in while a roster is there but broken, and recovers by itself', async () => {
    let text = 'users: [';
    const users = await directoryOf({ read: async () => ({ text, file: 'users.yaml', expand: false }) }, 5);
    expect([users.openCaller, users.keyring.size, users.source]).toEqual([undefined, 0, 'file']);
    text = roster;
    await vi.waitFor(() => expect(users.ids).toEqual(['ada', 'ben']));
    expect(users.closedBecause).toBeUndefined();
  });

  it('counts the newest of two reloads, whichever is read more slowly', async () => {
    const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
    const texts = ['users: [{id: eve, api_key: k}]', 'users: [{id: eve, api_key: k}]', roster];
    const users = await directoryOf({
      async read() {
        const text = texts.shift() ?? '';
        if (texts.length === 1) await gate;
        return { text, file: 'users.yaml', expand: false };
      },
    });
    const reloads = [users.reload(), users.reload()];
    letGo();
    await Promise.all(reloads);
    expect(users.ids).toEqual(['ada', 'ben']);
  });

  it('says in healthz that a broken roster keeps everyone out', async () => {
    const voice = await startVoice({ files: { 'users.yaml': 'users: [' } });
    expect((await voice.get('/api/whoami')).status).toBe(401);
    const { body } = await voice.get('/healthz');
    expect(body).toMatchObject({ status: 'ok', auth_source: 'file', user_count: 0 });
    expect(Object.values(body.missing ?? {}).map(({ what }) => what)).toContain('Users');
  });
});

describe('the secrets manager', () => {
  const secret = 'project/prod/USERS_YAML';
  const credentials = { clientId: 'client', clientSecret: 'very-secret' };
  const start = async (secrets: Record<string, string>, files: Record<string, string> = {}) => {
    const manager = await startInfisical({ ...credentials, secrets });
    onTestFinished(() => manager.stop());
    const env = {
      SECRETS_API_URL: manager.url,
      SECRETS_CLIENT_ID: 'client',
      SECRETS_CLIENT_SECRET: 'very-secret',
      SECRETS_PROJECT_ID: 'project',
    };
    return { manager, env, voice: await startVoice({ env, files }) };
  };

  it('gives the roster when all three variables are set, and the file is not read [V018]', async () => {
    const { voice, manager } = await start(
      { [secret]: roster },
      { 'users.yaml': 'users: [{id: x, api_key: x}]' },
    );
    expect((await voice.get('/api/whoami', 'ada-key')).body).toMatchObject({
      id: 'ada',
      auth_source: 'secrets_manager',
    });
    expect((await voice.get('/api/whoami', 'x')).status).toBe(401);
    expect(manager.requests[1]).toBe(
      '/api/v3/secrets/raw/USERS_YAML?workspaceId=project&environment=prod&secretPath=%2F',
    );
  });

  it('is not asked when one variable is missing', async () => {
    const env = {
      SECRETS_CLIENT_ID: 'client',
      SECRETS_PROJECT_ID: 'p',
      SECRETS_API_URL: 'http://127.0.0.1:9',
    };
    const voice = await startVoice({ env, files: { 'users.yaml': roster } });
    expect((await voice.get('/api/whoami', 'ada-key')).body.auth_source).toBe('file');
    expect(voice.lines.map(({ message }) => message).join()).toContain('SECRETS_CLIENT_SECRET');
  });

  it('sends its secret nowhere else', async () => {
    const { voice, manager } = await start({});
    const moved = new JsonServer();
    const headers = { location: `${manager.url}/api/v1/auth/universal-auth/login` };
    moved.on('POST /api/v1/auth/universal-auth/login', () => ({ status: 307, headers }));
    await moved.listen();
    onTestFinished(() => moved.stop());
    const asked = manager.requests.length;
    const source = createSecretsSource({ ...voice.voice.context.options, secretsApiUrl: moved.url });
    await expect(source.read()).rejects.toThrow('The secrets manager answered 307 to the login.');
    expect(manager.requests).toHaveLength(asked);
  });

  it('is given up after its time, without its secret in the words', async () => {
    const { voice, manager } = await start({});
    manager.fault = 'stall';
    const { options } = voice.voice.context;
    const source = createSecretsSource({ ...options, secretsApiUrl: manager.url }, 20);
    await expect(source.read()).rejects.toThrow(
      'The secrets manager did not answer the login; check SECRETS_API_URL.',
    );
  });

  it('is read anew by a reload', async () => {
    const { voice, manager } = await start({ [secret]: roster });
    manager.secrets.set(secret, 'users: [{id: eve, api_key: eve-key}]');
    expect((await voice.post('/api/users/reload', {}, 'ada-key')).body).toEqual({
      ok: true,
      users: ['eve'],
      source: 'secrets_manager',
    });
  });

  it('gives way to the file when the secret is missing', async () => {
    const { voice } = await start({}, { 'users.yaml': roster });
    expect((await voice.get('/api/whoami', 'ben-key')).body.auth_source).toBe('file');
  });

  it.each([
    ['the secret is missing and there is no file', {}, {}],
    ['the secret is no roster', { [secret]: 'users: nobody' }, {}],
    ['the secret is missing and the file has no user', {}, { 'users.yaml': 'users: []' }],
  ])('never opens the service: %s', async (_case, secrets, files) => {
    const { voice } = await start(secrets, files);
    expect((await voice.get('/api/whoami')).status).toBe(401);
    expect((await voice.get('/api/whoami', 'ada-key')).status).toBe(401);
  });

  it('is held to the same rules as the file, and its fault keeps everyone out', async () => {
    const { voice } = await start({ [secret]: 'users:\n  - {id: a, api_key: k}\n  - {id: b, api_key: k}\n' });
    const { status, body } = await voice.get('/api/whoami', 'k');
    expect(status).toBe(401);
    expect(body.detail).toMatch(/secret USERS_YAML:3:.*same key/s);
  });

  it('leaves nobody in when its variables are taken away and there is no file', async () => {
    const { voice } = await start({ [secret]: roster });
    await voice.stop();
    const again = await startVoice({ home: voice.home });
    expect((await again.get('/api/whoami')).status).toBe(401);
    expect((await again.get('/api/whoami', 'ada-key')).status).toBe(401);
  });

  it('keeps its last roster while it fails, and its secret out of the log', async () => {
    const { voice, manager } = await start(
      { [secret]: roster },
      { 'users.yaml': 'users: [{id: x, api_key: x}]' },
    );
    manager.fault = 500;
    expect((await voice.post('/api/users/reload', {}, 'ada-key')).body).toEqual({
      error: 'The secrets manager answered 500 to the login.',
    });
    expect((await voice.get('/api/whoami', 'ben-key')).body.auth_source).toBe('secrets_manager');
    expect(JSON.stringify(voice.lines)).not.toContain('very-secret');
  });
});

it('seeds a first configuration and leaves what is there', async () => {
  const voice = await startVoice({ files: { 'SOUL.md': 'Mine.', 'skills/own.yaml': 'name: Own' } });
  expect(readFileSync(join(voice.config, 'SOUL.md'), 'utf8')).toBe('Mine.');
  expect((await voice.get('/healthz')).body.skills).toEqual(['own']);
  expect(readFileSync(join(voice.config, 'delegates.example.yaml'), 'utf8')).toContain('type: a2a');
});
