import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, createLogger, type Environment, readOptions } from '@trunkline/config';
import { freePort, startModelServer, type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { apiKeyVariable } from '../context.ts';
import { modelEnvironment, post, startAgent, type TestAgent, writeConfig } from '../fixtures/start-agent.ts';
import { agentOptions } from '../options.ts';
import { configSchema, secretsSchema } from './config-schema.ts';
import { findPlaces } from './places.ts';
import { diagnoseOwnModel, modelSettings, runSetup } from './setup.ts';

let home: TemporaryDirectory;
let agent: TestAgent | undefined;
const lines: string[] = [];
const logger = createLogger({ name: 'test', destination: { write: (line) => lines.push(line) } });

beforeEach(() => {
  home = temporaryDirectory();
  lines.length = 0;
});
afterEach(async () => {
  await agent?.stop();
  agent = undefined;
  home.remove();
});

const optionsWith = (env: Environment = {}, argv: string[] = []) =>
  readOptions(agentOptions, { env: { TRUNKLINE_HOME: home.path, ...env }, argv });
const begin = async (env: Environment = {}, config?: string) => {
  agent = await startAgent({ home: home.path, env, ...(config !== undefined && { config }) });
  return agent;
};
const health = async () => (await (await agent?.fetch('/healthz'))?.json()) as Record<string, unknown>;

describe('variables and flags', () => {
  it('have the defaults of the contract [A036] [A037] [A041] [A044] [A052] [A058] [A059] [A062]', () => {
    expect(optionsWith()).toMatchObject({
      port: 7870,
      host: '127.0.0.1',
      ui: 'full',
      headless: false,
      headlessSetup: false,
      parkedTasks: 'keep',
      publicUrl: undefined,
      allowedOrigins: [],
      pushAllowedHosts: [],
      pushAllowedCidrs: [],
      schedulerBackend: 'local',
      schedulerFireTimeoutS: 600,
      schedulerDisabled: false,
      logLevel: 'INFO',
    });
  });

  it('take flags before variables [A036] [A037] [A038]', () => {
    const argv = [
      '--port',
      '1',
      '--host',
      '0.0.0.0',
      '--ui',
      'none',
      '--headless',
      '--config',
      '/tmp/x.yaml',
    ];
    const options = optionsWith({ AGENT_PORT: '2', CORE_HOST: '::1', CORE_UI: 'console' }, argv);
    expect(options).toMatchObject({ port: 1, host: '0.0.0.0', ui: 'none', headless: true });
    expect(options.configFile).toBe('/tmp/x.yaml');
  });

  it('name what is wrong', () => {
    const wrong = () => optionsWith({ CORE_UI: 'fancy', PUSH_NOTIFICATION_ALLOWED_CIDRS: '10.0.0.0/99' });
    expect(wrong).toThrow(/CORE_UI is "fancy".*PUSH_NOTIFICATION_ALLOWED_CIDRS/s);
  });

  it('derive the variable of the key from the name [A030] [A031]', () => {
    expect(apiKeyVariable('my agent-2')).toBe('MY_AGENT_2_API_KEY');
  });

  it('let CORE_MODEL win over the configuration and that over LLM_MODEL [A034]', () => {
    const config = configSchema.parse({ model: { name: 'from-config', api_base: 'http://config' } });
    const secrets = secretsSchema.parse({ model: { api_key: 'from-secrets' } });
    const given = { LLM_MODEL: 'from-env', LLM_GATEWAY_URL: 'http://env', LLM_API_KEY: 'from-env' };
    expect(modelSettings(optionsWith({ ...given, CORE_MODEL: 'core' }), config, secrets)).toEqual({
      url: 'http://config',
      apiKey: 'from-secrets',
      model: 'core',
    });
    expect(modelSettings(optionsWith(given), config, secrets).model).toBe('from-config');
    const empty = modelSettings(optionsWith(given), configSchema.parse({}), secretsSchema.parse({}));
    expect(empty).toEqual({ url: 'http://env', apiKey: 'from-env', model: 'from-env' });
  });

  it('give the key and the name of a model file to its own address only', () => {
    const variables = optionsWith({ LLM_API_KEY: 'of the provider', LLM_MODEL: 'large' });
    const file = { llmGatewayUrl: 'http://file/v1', llmApiKey: 'of the file', llmModel: 'tiny' };
    const options = { ...variables, ...file, llmFastModel: 'tiny', withoutModelFile: variables };
    const settings = (api_base: string) =>
      modelSettings(options, configSchema.parse({ model: { api_base } }), secretsSchema.parse({}));
    const ofFile = { apiKey: 'of the file', model: 'tiny', fastModel: 'tiny' };
    expect(settings('')).toEqual({ url: 'http://file/v1', ...ofFile });
    expect(settings('http://file/v1/')).toEqual({ url: 'http://file/v1/', ...ofFile });
    const url = 'http://provider/v1';
    expect(settings(url)).toEqual({ url, apiKey: 'of the provider', model: 'large' });
  });

  it('leave a model of the agent alone, which doctor asks besides the shared one', async () => {
    const server = await startModelServer({ apiKey: 'right', models: ['large'] });
    try {
      const folder = join(home.path, 'agent', 'config');
      mkdirSync(folder, { recursive: true });
      const found = async (config: string, shared: Environment = {}) => {
        writeFileSync(join(folder, 'agent.yaml'), config);
        const env = { TRUNKLINE_HOME: home.path, ...shared };
        return await diagnoseOwnModel(optionsWith(env), env, {
          signal: AbortSignal.timeout(60_000),
          probe: async (gateway, subject) => [
            { subject, state: 'ok', words: `probed ${gateway.languageModel().modelId}` },
          ],
        });
      };
      const subject = 'model of the agent';
      const shared = { LLM_GATEWAY_URL: server.url, LLM_API_KEY: 'right', LLM_MODEL: 'large' };
      expect(await found('model: {}')).toEqual([]);
      expect(await found(`model: { api_base: "\${LLM_GATEWAY_URL:-}" }`, shared)).toEqual([]);
      const closed = `http://127.0.0.1:${await freePort()}/v1`;
      expect(await found(`model: { api_base: "${closed}", name: x }`, shared)).toMatchObject([
        { subject, state: 'failed', words: expect.stringMatching(/Cannot reach .* Check agent\.yaml\.$/) },
      ]);
      expect(await found('model: { name: huge }', shared)).toMatchObject([
        { subject, state: 'failed', words: expect.stringContaining('The model in agent.yaml is "huge"') },
      ]);
      writeFileSync(
        join(home.path, 'models.yaml'),
        `roles: { chat: { model: huge, url: "${server.url}", api_key: right } }`,
      );
      expect(await found('model: {}')).toEqual([]);
      expect(await found('model: { name: large }')).toMatchObject([
        { subject, state: 'ok', words: expect.stringContaining('large is ready') },
        { subject, state: 'ok', words: 'probed large' },
      ]);
      rmSync(join(home.path, 'models.yaml'));
      expect(await found('modle: {}', shared)).toMatchObject([{ subject, state: 'failed' }]);
      writeFileSync(join(folder, 'secrets.yaml'), 'model: { api_key: right }');
      expect(await found(`model: { api_base: "${server.url}", name: large }`)).toMatchObject([
        { subject, state: 'ok', words: expect.stringContaining('large is ready') },
        { subject, state: 'ok', words: 'probed large' },
      ]);
    } finally {
      await server.stop();
    }
  });
});

describe('places', () => {
  const config = configSchema.parse({});

  it('are /sandbox where it is there, else under the home of the data [A045] [A048] [A049] [A050] [A051] [A056]', async () => {
    const sandbox = join(home.path, 'sandbox');
    const elsewhere = await findPlaces(optionsWith(), config, logger, sandbox);
    expect(elsewhere.notes).toBe(join(home.path, 'agent/notes/workspace.json'));
    mkdirSync(sandbox);
    expect(await findPlaces(optionsWith(), config, logger, sandbox)).toMatchObject({
      memory: join(sandbox, 'memory'),
      notes: join(sandbox, 'notes/workspace.json'),
      beads: join(sandbox, 'beads/issues.db'),
      goals: join(sandbox, 'goals'),
      audit: join(sandbox, 'audit/audit.jsonl'),
      scheduler: join(sandbox, 'scheduler'),
    });
  });

  it('follow their variables, and fall back with a word when one cannot be written [A047]', async () => {
    const file = join(home.path, 'a-file');
    writeFileSync(file, '');
    const env = { KNOWLEDGE_DB_PATH: join(file, 'k.db'), NOTES_PATH: join(home.path, 'mine.json') };
    const places = await findPlaces(optionsWith(env), config, logger);
    expect(places.notes).toBe(join(home.path, 'mine.json'));
    expect(places.knowledge).toBe(join(home.path, 'agent/knowledge/knowledge.db'));
    expect(lines.join()).toContain('a-file');
  });

  it('are apart for each instance, by variable or configuration [A035]', async () => {
    const seeded = configSchema.parse({ instance: { id: 'two' } });
    const first = Object.values(await findPlaces(optionsWith({ CORE_INSTANCE: 'one' }), seeded, logger));
    const second = Object.values(await findPlaces(optionsWith(), seeded, logger));
    expect(first.every((path) => path.includes('/one'))).toBe(true);
    expect(second.every((path) => path.includes('/two'))).toBe(true);
    expect(new Set([...first, ...second]).size).toBe(first.length * 2);
  });
});

describe('setup without a wizard [A006]', () => {
  const marker = () => existsSync(join(home.path, 'agent/config/.setup-complete'));

  it('names all that is missing and marks nothing', async () => {
    const failure = await runSetup(optionsWith(), {}, logger).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(String(failure)).toMatch(/model\.api_base is not set.*LLM_API_KEY/s);
    expect(marker()).toBe(false);
  });

  it('is content with the address in the configuration and the key in the secrets', async () => {
    const directory = writeConfig(home.path, 'model: { api_base: "http://127.0.0.1:1/v1" }');
    writeFileSync(join(directory, 'secrets.yaml'), 'model: { api_key: sesame }');
    expect(await runSetup(optionsWith(), {}, logger)).toContain('complete');
    expect(marker()).toBe(true);
  });

  it('happens at the start in tier none, which fails fast otherwise [A003]', async () => {
    await expect(begin({ CORE_UI: 'none' })).rejects.toThrow(/model\.api_base is not set/);
    await begin({ CORE_UI: 'none', LLM_GATEWAY_URL: 'http://127.0.0.1:1/v1', LLM_API_KEY: 'k' });
    expect(await health()).toMatchObject({ setup_complete: true, ui: 'none' });
  });

  it('happens in other tiers with CORE_HEADLESS_SETUP [A039]', async () => {
    await begin({ LLM_GATEWAY_URL: 'http://127.0.0.1:1/v1', LLM_API_KEY: 'k' });
    expect(await health()).toMatchObject({ setup_complete: false });
    await agent?.stop();
    await begin({ LLM_GATEWAY_URL: 'http://127.0.0.1:1/v1', LLM_API_KEY: 'k', CORE_HEADLESS_SETUP: 'true' });
    expect(await health()).toMatchObject({ setup_complete: true });
  });

  it('can be done through the console, the key in the stored secrets', async () => {
    const model = await startModelServer({ apiKey: 'sesame', script: () => 'Real.' });
    const running = await begin();
    const given = { api_base: model.url, api_key: 'sesame', model: 'test-model' };
    expect(await (await running.fetch('/api/config/test-model', post(given))).json()).toMatchObject({
      ok: true,
    });
    expect((await running.fetch('/api/config/setup', post({}))).status).toBe(400);
    expect(await (await running.fetch('/api/config/setup', post(given))).json()).toMatchObject({ ok: true });
    const secrets = join(home.path, 'agent/config/secrets.yaml');
    expect(readFileSync(secrets, 'utf8')).toContain(`\${secret:agent-model-key-`);
    expect(readFileSync(secrets, 'utf8')).not.toContain('sesame');
    expect(statSync(secrets).mode & 0o077).toBe(0);
    expect(readFileSync(join(home.path, 'agent/config/agent.yaml'), 'utf8')).not.toContain('sesame');
    await expect.poll(async () => ((await health()).model as { demo: boolean }).demo).toBe(false);
    await expect.poll(async () => (await running.send('Hi')).status.state).toBe('completed');
    await model.stop();
  });
});

describe('the live configuration [A032]', () => {
  it('is created with its folders, and says what to change', async () => {
    await begin();
    const directory = join(home.path, 'agent/config');
    expect(readFileSync(join(directory, 'agent.yaml'), 'utf8')).toMatch(/api_base: \$\{LLM_GATEWAY_URL:-\}/);
    expect([existsSync(join(directory, 'skills')), existsSync(join(directory, 'plugins'))]).toEqual([
      true,
      true,
    ]);
  });

  it('is followed: a good change counts, a bad one is named and leaves the last good one', async () => {
    const model = await startModelServer({ script: () => 'Yes.' });
    const running = await begin(modelEnvironment(model.url), 'identity: { persona: I am calm. }');
    writeConfig(home.path, 'identity: { persona: I am brisk. }\ntools: { disabled: [calculator] }');
    const lastChat = async () => {
      await running.send('Hi');
      return JSON.stringify(model.chats().at(-1));
    };
    await expect.poll(lastChat).toContain('I am brisk.');
    expect(await lastChat()).not.toContain('"calculator"');
    writeConfig(home.path, 'identity: { persna: I am wrong. }');
    await expect.poll(() => running.log.join()).toContain('persona');
    expect(await lastChat()).toContain('I am brisk.');
    await model.stop();
  });

  it('refuses an unknown key at the start, by name and line', async () => {
    await expect(begin({}, 'model:\n  nmae: x\n')).rejects.toThrow(
      /agent\.yaml:2:3: model: unknown key "nmae".*"name"/,
    );
  });

  it('is written through the console only when it is valid', async () => {
    const running = await begin();
    const put = (text: string) => running.fetch('/api/config', { ...post({ text }), method: 'PUT' });
    const refused = await put('budget: { steps: many }');
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('budget.steps');
    expect((await put('identity: { name: Iris }')).status).toBe(200);
    const card = async () =>
      (await (await running.fetch('/.well-known/agent-card.json')).json()) as { name: string };
    await expect.poll(async () => (await card()).name).toBe('Iris');
    const { text } = (await (await running.fetch('/api/config')).json()) as { text: string };
    expect(text).toBe('identity: { name: Iris }');
  });
});

describe('exposure', () => {
  it('is warned of beyond loopback without a token, or refused where wanted [A037]', async () => {
    const running = await begin({ CORE_HOST: '0.0.0.0' });
    expect(running.log.some((line) => line.includes('SECURITY') && line.includes('A2A_AUTH_TOKEN'))).toBe(
      true,
    );
    await running.stop();
    const refused = begin({ CORE_HOST: '0.0.0.0', CORE_REQUIRE_AUTH: '1' });
    await expect(refused).rejects.toThrow(/A2A_AUTH_TOKEN/);
    const guarded = await begin({ CORE_HOST: '0.0.0.0', CORE_REQUIRE_AUTH: '1', A2A_AUTH_TOKEN: 't' });
    expect(guarded.log.join()).not.toContain('SECURITY');
  });

  it('keeps to the token of the configuration when no variable gives one', async () => {
    const running = await begin({}, 'auth: { token: from-config }');
    expect((await running.fetch('/api/tools')).status).toBe(401);
    const headers = { authorization: 'Bearer from-config' };
    expect((await running.fetch('/api/tools', { headers })).status).toBe(200);
  });
});

describe('tiers of the interface [A003] [A126]', () => {
  it.each([
    ['full', 200, 200],
    ['console', 404, 200],
    ['none', 404, 404],
  ])('%s', async (ui, root, app) => {
    const running = await begin({ CORE_UI: ui, LLM_GATEWAY_URL: 'http://127.0.0.1:1/v1', LLM_API_KEY: 'k' });
    const statuses = await Promise.all(
      ['/', '/app', '/healthz', '/metrics'].map((path) => running.fetch(path)),
    );
    // Pages that were not built answer 503 and are served all the same.
    const seen = statuses.map(({ status }) => (status === 503 ? 200 : status));
    expect(seen).toEqual([root, app, 200, 200]);
    expect((await running.fetch('/api/tools')).status).toBe(200);
  });

  it('CORE_HEADLESS is the console tier [A038]', async () => {
    await begin({ CORE_HEADLESS: '1' });
    expect(await health()).toMatchObject({ ui: 'console' });
  });
});
