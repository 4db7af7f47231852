import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import {
  freePort,
  type ModelServer,
  natsMissing,
  startChild,
  startModelServer,
  startNatsServer,
  startOidcProvider,
  temporaryHome,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const cleanups: (() => unknown)[] = [];
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

interface Result {
  code: number | null;
  output: string;
}

afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

// Every run loads all services and reads all weights, so that several findings are made in one.
describe('trunkline doctor', () => {
  it('finds nothing wrong on a fresh machine and says what would make it better', async () => {
    const { code, output } = await doctor({});
    expect(output).toMatch(/^note {4}model .*LLM_GATEWAY_URL/m);
    expect(output).toMatch(/^ok {6}calls .*@roamhq\/wrtc loads/m);
    expect(output).toMatch(/^ok {6}speech recognition/m);
    expect(output).toMatch(/^ok {6}bus .*embedded/m);
    expect(output).toMatch(/^ok {6}data directory/m);
    expect(output).toMatch(/^(ok {6}sandbox .*bubblewrap|note {4}sandbox .*none: .* are refused)/m);
    expect(output.match(/^ok {6}port \d+ +free for/gm)).toHaveLength(4);
    expect(code).toBe(0);
  });

  describe('where all that is set answers', () => {
    let result: Result;
    let agentPort: number;
    const data = temporaryHome();
    cleanups.push(data.remove);
    beforeAll(async () => {
      const model = await startModelServer({
        apiKey: 'right',
        models: ['small', 'large', 'strict'],
        ownedBy: 'vllm',
        script: ({ tools }) =>
          tools === undefined
            ? 'Red.'
            : { toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] },
      });
      cleanups.push(() => model.stop());
      const agent = createHttpServer((_, response) => response.end('{"model":{}}')).listen(0, '127.0.0.2');
      await once(agent, 'listening');
      cleanups.push(() => agent.close());
      agentPort = (agent.address() as AddressInfo).port;
      const nats = natsMissing ? undefined : await startNatsServer();
      cleanups.push(() => nats?.stop());
      const provider = await startOidcProvider({});
      cleanups.push(() => provider.stop());
      const environment = {
        ...modelAt(model, 'right', 'large'),
        CORE_MODEL: 'small',
        LLM_JUDGE_MODEL: 'strict',
        LLM_FAST_MODEL: 'large',
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: 'trunkline',
        OIDC_NAME: 'Example ID',
        AGENT_PORT: String(agentPort),
        CORE_HOST: '127.0.0.2',
        NATS_URL: nats?.url ?? '',
        TRUNKLINE_OPEN: '0',
        TRUNKLINE_HOME: data.path,
      };
      writeFileSync(join(data.path, 'models.yaml'), 'models:\n  large:\n    images: false # mine\n');
      result = await doctor(environment, { flags: ['--fix'] });
    });

    it('says that the model is ready', () => {
      expect(result.output).toMatch(/^ok {6}model .*large is ready/m);
    });

    it('tries what a model nearby can do', () => {
      expect(result.output).toMatch(/^ok {6}model answer +answers within/m);
      expect(result.output).toMatch(/^ok {6}model tools +calls tools, by the API/m);
      expect(result.output).toMatch(/^note {4}model images +sees no images/m);
      expect(result.output).toMatch(/^note {4}model context +.*LLM_CONTEXT_TOKENS/m);
    });

    it.each([
      ['model of the agent', 'small'],
      ['model for judge', 'strict'],
    ])('tries the %s too, as it is another one', (subject, name) => {
      expect(result.output).toMatch(new RegExp(`^ok {6}${subject} +${name} is ready at `, 'm'));
      expect(result.output).toMatch(new RegExp(`^ok {6}${subject} +answers within`, 'm'));
      expect(result.output).toMatch(new RegExp(`^ok {6}${subject} +calls tools, by the API`, 'm'));
      expect(result.output).toMatch(
        new RegExp(`^ok {6}model settings +set .*tools: native.* for ${name} `, 'm'),
      );
      expect(result.output).not.toContain('model for helper');
    });

    it('sets what it found, says so, and leaves what was set', () => {
      expect(result.output).toMatch(/^ok {6}model settings +set tools: native for large in .*models\.yaml/m);
      const models = readFileSync(join(data.path, 'models.yaml'), 'utf8');
      expect(models).toContain('models:\n  large:\n    images: false # mine\n    tools: native\n');
    });

    it('knows a service that listens on an address of its own', () => {
      expect(result.output).toMatch(new RegExp(`^ok {6}port ${agentPort} +a service answers there`, 'm'));
    });

    it.skipIf(natsMissing)('enters a NATS server that answers', () => {
      expect(result.output).toMatch(/^ok {6}bus .*JetStream is ready/m);
    });

    it('asks the provider at which people sign in', () => {
      expect(result.output).toMatch(/^ok {6}sign-in +Example ID answers at http:/m);
    });

    it("says where the operator's key will be, and that nothing failed", () => {
      expect(result.output).toMatch(/^ok {6}operator's key +is created in /m);
      expect(result.output).not.toMatch(/^FAILED/m);
      expect(result.code).toBe(0);
    });
  });

  describe('where settings are wrong', () => {
    let result: Result;
    let heldPort: number;
    beforeAll(async () => {
      const model = await startModelServer({ apiKey: 'right', models: ['small', 'large'] });
      cleanups.push(() => model.stop());
      const holder = createServer((socket) => socket.end('not us\n')).listen(0, '127.0.0.1');
      await once(holder, 'listening');
      cleanups.push(() => holder.close());
      heldPort = (holder.address() as AddressInfo).port;
      const home = temporaryHome();
      cleanups.push(home.remove);
      writeFileSync(join(home.path, 'operator-key'), 'x'.repeat(43), { mode: 0o644 });
      const judge = `{ model: strict, url: "http://127.0.0.1:${await freePort()}/v1" }`;
      const helper = `{ model: small, url: "${model.url}", api_key: right }`;
      writeFileSync(join(home.path, 'models.yaml'), `roles:\n  judge: ${judge}\n  helper: ${helper}\n`, {
        mode: 0o600,
      });
      // As an agent of an older version left them, which recorded no owner.
      const schedules = join(home.path, 'schedules');
      mkdirSync(join(schedules, 'ada'), { recursive: true });
      const jobs = new DatabaseSync(join(schedules, 'ada', 'jobs.db'));
      jobs.exec("CREATE TABLE jobs (id TEXT); INSERT INTO jobs VALUES ('plants'), ('bins')");
      jobs.close();
      result = await doctor({
        ...modelAt(model, 'wrong-key', 'large'),
        AGENT_PORT: String(heldPort),
        NATS_URL: `nats://127.0.0.1:${await freePort()}`,
        OIDC_ISSUER: `http://127.0.0.1:${heldPort}`,
        OIDC_CLIENT_ID: 'trunkline',
        RESEARCH_HOST: '0.0.0.0',
        SCHEDULER_DB_DIR: schedules,
        SEARXNG_URL: `http://127.0.0.1:${await freePort()}`,
        TRUNKLINE_HOME: home.path,
        TRUNKLINE_OPEN: '0',
      });
    });

    it('names the variable of a key that the model endpoint refuses, and does not show the key', () => {
      expect(result.output).toMatch(/^FAILED {2}model .*LLM_API_KEY/m);
      expect(result.output).not.toContain('wrong-key');
    });

    it('tries the endpoints of roles', () => {
      expect(result.output).toMatch(/^FAILED {2}model for judge +Cannot reach the model at .*models\.yaml/m);
      expect(result.output).toMatch(/^ok {6}model for helper +small is ready at /m);
    });

    it('names a port that another program holds', () => {
      expect(result.output).toMatch(new RegExp(`^FAILED {2}port ${heldPort}`, 'm'));
      expect(result.output).toContain('set AGENT_PORT to another port');
    });

    it('says when no NATS server answers', () => {
      expect(result.output).toMatch(/^FAILED {2}bus/m);
      expect(result.output).toContain('Check NATS_URL');
    });

    it("looks at the operator's key and at services that are open", () => {
      expect(result.output).toMatch(/^FAILED {2}operator's key +other accounts .*operator-key \(mode 644\)/m);
      expect(result.output).toMatch(/^note {4}research is open +it listens on 0\.0\.0\.0/m);
      expect(result.output).toContain('Set RESEARCH_AUTH_TOKEN');
    });

    it('says when nobody can sign in at the provider', () => {
      expect(result.output).toMatch(/^FAILED {2}sign-in .*cannot be reached at http:/m);
      expect(result.output).toContain('Check OIDC_ISSUER');
    });

    it('names an address where nothing listens, once for all services that use it', () => {
      expect(result.output).toMatch(/^FAILED {2}SEARXNG_URL +Cannot reach http:.*: connection refused\.$/m);
    });

    it('names schedules that no agent runs', () => {
      expect(result.output).toMatch(/^note {4}schedules +those of ada \(2\) in .*schedules do not run\.$/m);
      expect(result.output).toContain('set AGENT_NAME back');
    });

    it('fails with these seven findings and no other', () => {
      expect(result.output.match(/^FAILED/gm)).toHaveLength(7);
      expect(result.code).toBe(1);
    });
  });

  it('names a model that the endpoint does not have, also by a name that it mended, and services that are open to all', async () => {
    const model = await startModelServer({ apiKey: 'right', models: ['small', 'large'] });
    cleanups.push(() => model.stop());
    const { code, output } = await doctor(
      { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'right', TRUNKLINE_OPEN: '1' },
      { flags: ['--fix'], file: 'LLM_MODLE=huge\n' },
    );
    expect(output).toMatch(/^fixed {3}renamed LLM_MODLE to LLM_MODEL in .*\.env\.$/m);
    expect(output).not.toContain('LLM_MODLE is not a setting');
    expect(output).toMatch(/^FAILED {2}model .*LLM_MODEL is "huge".*small, large/m);
    expect(output).toMatch(/^note {4}operator's key +TRUNKLINE_OPEN=1/m);
    expect(output.match(/^FAILED/gm)).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('names a faulty file of keys, and finds the rest', async () => {
    const home = temporaryHome();
    cleanups.push(home.remove);
    const workspace = join(home.path, 'switchboard', 'workspace');
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(workspace, 'keys.yaml'), 'keys:\n  - envKey: PARTNER_KEY\n');
    const { code, output } = await doctor({ TRUNKLINE_HOME: home.path }, { flags: ['--json'] });
    const found = JSON.parse(output) as { subject: string; state: string; words: string }[];
    expect(found.filter(({ state }) => state === 'failed')).toEqual([
      { subject: 'access', state: 'failed', words: expect.stringMatching(/keys\.yaml.*name/s) },
    ]);
    expect(found).toContainEqual(expect.objectContaining({ subject: 'sign-in', state: 'ok' }));
    expect(code).toBe(1);
  });

  it.skipIf(!canMount)(
    'fails when the disk has no room for the data, also where models.yaml cannot be written',
    async () => {
      const home = temporaryHome();
      cleanups.push(home.remove);
      const model = await startModelServer({
        models: ['large'],
        script: () => ({ toolCalls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] }),
      });
      cleanups.push(() => model.stop());
      // A file that is mounted by itself, as Kubernetes does it, cannot be replaced.
      const inSmallDisk = [
        'mount -t tmpfs -o size=4m tmpfs "$1"',
        'touch "$1/models.yaml"',
        'mount --bind "$1/models.yaml" "$1/models.yaml"',
        'TRUNKLINE_HOME="$1" exec "$2" "$3" doctor --fix --probe',
      ].join(' && ');
      const words = ['-rm', 'sh', '-c', inSmallDisk, 'sh', home.path, process.execPath, launcher];
      const env = { ...process.env, ...home.environment, ...modelAt(model, 'any', 'large') };
      const child = spawn('unshare', words, { cwd: home.path, env });
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
      expect(output).toMatch(
        /^note {4}model settings +The file .*models\.yaml cannot be written.*\n +Let this user/m,
      );
      expect(output).toMatch(/^FAILED {2}disk +4\.0 MiB free at .*\n +Free some space/m);
      expect(code).toBe(1);
    },
    300_000,
  );

  it('names a data directory that cannot be written, and asks a paid endpoint only what is free', async () => {
    const asked: string[] = [];
    // LiteLLM says so in its headers; it may pass calls on to a provider that takes money.
    const paid = createHttpServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.setHeader('x-litellm-version', '1.80.0');
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'large', object: 'model' }] }));
    }).listen(0, '127.0.0.1');
    await once(paid, 'listening');
    cleanups.push(() => paid.close());
    const { port } = paid.address() as AddressInfo;
    const environment = {
      TRUNKLINE_HOME: join(launcher, 'below-a-file'),
      ...modelAt({ url: `http://127.0.0.1:${port}/v1` }, 'right', 'large'),
    };
    const { code, output } = await doctor(environment, { flags: ['--json'] });
    const found = JSON.parse(output) as { subject: string; state: string; words: string; advice: string }[];
    expect(found).toContainEqual(
      expect.objectContaining({
        subject: 'model abilities',
        words: expect.stringContaining('trunkline doctor --probe'),
      }),
    );
    expect(asked).toContain('GET /v1/models');
    expect(asked.filter((line) => !line.startsWith('GET '))).toEqual([]);
    const failed = found.filter(({ state }) => state === 'failed');
    expect(failed).toMatchObject([
      { subject: 'data directory', advice: expect.stringContaining('TRUNKLINE_HOME') },
    ]);
    expect(output.endsWith(']\n')).toBe(true);
    expect(code).toBe(1);
  });
});

function modelAt({ url }: Pick<ModelServer, 'url'>, key: string, model: string): Record<string, string> {
  return { LLM_GATEWAY_URL: url, LLM_API_KEY: key, LLM_MODEL: model };
}

/** `file`: what stands in .env. */
async function doctor(
  environment: Record<string, string>,
  { flags = [], file = '' }: { flags?: string[]; file?: string } = {},
): Promise<Result> {
  const home = temporaryHome();
  cleanups.push(home.remove);
  writeFileSync(join(home.path, '.env'), file);
  const names = ['VOICE_PORT', 'AGENT_PORT', 'RESEARCH_PORT', 'SWITCHBOARD_PORT'];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, String(await freePort())])),
  );
  const child = startChild(launcher, {
    arguments: ['doctor', ...flags],
    directory: home.path,
    environment: { ...home.environment, LLM_GATEWAY_URL: '', NATS_URL: '', ...ports, ...environment },
  });
  cleanups.push(() => child.kill());
  const { code } = await child.exited;
  return { code, output: child.output() };
}
