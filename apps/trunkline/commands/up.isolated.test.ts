import { once } from 'node:events';
import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import {
  type Child,
  freePort,
  startChild,
  type TemporaryHome,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const services = ['voice', 'agent', 'research', 'switchboard'] as const;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('trunkline up', () => {
  it('runs all four services, whatever PORT says, tells where they are and stops cleanly on Ctrl-C', async () => {
    // One service alone would take PORT.
    const port = await freePort();
    const slips = {
      LLM_MODLE: 'qwen3',
      TRUNKLINE_HOM: '/srv',
      LLM_MODEL: 'qwen3',
      PEER_ADA_URL: '',
      NODE_PATH: '',
    };
    const child = trunkline(['up'], {
      ...anyPorts(),
      ...slips,
      PORT: String(port),
      TRUNKLINE_SANDBOX: 'off',
    });
    await child.waitForLine('Ctrl-C stops everything', 60_000);
    expect(child.output()).toContain('LLM_MODLE is not a setting; did you mean LLM_MODEL?');
    expect(child.output()).toContain('TRUNKLINE_HOM is not a setting; did you mean TRUNKLINE_HOME?');
    expect(child.output()).toContain('LLM_MODEL is set, but LLM_GATEWAY_URL is not');
    for (const name of ['PEER_ADA_URL', 'NODE_PATH', 'PATH'])
      expect(child.output()).not.toContain(`${name} is not`);
    expect(child.output()).not.toContain(`:${port}`);
    // What every first start is told stands in the introduction, and not in lines of the log before it.
    expect(child.output()).not.toMatch(/^\{.*"service":/m);
    expect(child.output()).toContain('A2A_ALLOWED_ORIGINS, A2A_AUTH_TOKEN, SWITCHBOARD_API_KEY close it');
    expect(child.output()).toMatch(/^ {2}sandbox {6}TRUNKLINE_SANDBOX=off: commands.*docs\/sandbox\.md/m);
    const urls = addresses(child.output());
    expect(Object.keys(urls).sort()).toEqual([...services].sort());
    for (const name of services) {
      const health = await fetch(`${urls[name]}/healthz`);
      expect(health.status).toBe(200);
      const body = (await health.json()) as { services: { name: string; url: string }[] };
      expect(body.services).toContainEqual({ name, url: urls[name], state: 'live' });
      const page = await fetch(`${urls[name]}/`);
      expect(page.headers.get('content-type')).toContain('text/html');
    }
    expect(child.output()).toContain('LLM_GATEWAY_URL');
    expect(await child.kill('SIGINT')).toMatchObject({ code: 0 });
    for (const name of services) await expect(fetch(`${urls[name]}/healthz`)).rejects.toThrow();
  });

  it('names the port that is taken and the variable to change, and leaves nothing running', async () => {
    const holder = await occupiedPort();
    const child = trunkline(['up'], { ...anyPorts(), RESEARCH_PORT: String(holder) });
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.output()).toContain(`Port ${holder}`);
    expect(child.output()).toContain('RESEARCH_PORT');
  });

  it.each(['up', ...services])('says what to do when the home cannot be written: %s', async (command) => {
    const home = join(launcher, 'below-a-file');
    const child = trunkline([command], { ...anyPorts(), TRUNKLINE_HOME: home });
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.output()).toContain('Set TRUNKLINE_HOME to a folder that this user may write.');
    expect(child.output()).not.toContain('    at ');
  });

  it('says what to do when the home is a link to a disk that is not there', async () => {
    const home = temporaryHome();
    cleanups.push(home.remove);
    symlinkSync(join(home.path, 'no-disk'), join(home.path, 'link'));
    const child = trunkline(['up'], { ...anyPorts(), TRUNKLINE_HOME: join(home.path, 'link') });
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.output()).toContain('a link on the way leads nowhere. Set TRUNKLINE_HOME');
    expect(child.output()).not.toContain('    at ');
  });

  it('lists every malformed variable of all services at once', async () => {
    const child = trunkline(['up'], { ...anyPorts(), LLM_GATEWAY_URL: 'not an address', LOG_LEVEL: 'LOUD' });
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.output()).toContain('LOG_LEVEL is "LOUD"; expected one of DEBUG, INFO, WARNING, ERROR');
    const ports = trunkline(['up'], { ...anyPorts(), VOICE_PORT: '70000', AGENT_PORT: 'high' });
    expect(await ports.exited).toMatchObject({ code: 2 });
    expect(ports.output()).toContain('VOICE_PORT is "70000"; expected a whole number from 0 to 65535');
    expect(ports.output()).toContain('AGENT_PORT is "high"');
  });

  describe('with a home and public addresses', () => {
    const home = temporaryHome();
    const environment = {
      ...anyPorts(),
      ...home.environment,
      PUBLIC_URL: 'https://voice.example',
      A2A_PUBLIC_URL: 'https://agent.example',
      SWITCHBOARD_PUBLIC_URL: 'https://board.example',
    };
    let child: Child;
    beforeAll(async () => {
      child = launch(['up'], home, environment);
      await child.waitForLine('Ctrl-C stops everything', 60_000);
    });
    afterAll(async () => {
      await child.kill();
      home.remove();
    });

    it('lets pages link to the public addresses where they are set, and to the others where they listen', async () => {
      const urls = addresses(child.output());
      for (const name of services) {
        const body = (await (await fetch(`${urls[name]}/healthz`)).json()) as { services: { url: string }[] };
        expect(body.services.map(({ url }) => url).sort()).toEqual([
          urls.research,
          'https://agent.example',
          'https://board.example',
          'https://voice.example',
        ]);
      }
    });

    it('lets no second process work on the data of the four, which would take running tasks for lost', async () => {
      await Promise.all(
        services.map(async (name) => {
          const second = trunkline([name, '--port', '0'], home.environment);
          expect(await second.exited).toMatchObject({ code: 1 });
          expect(second.output()).toMatch(/Another process uses the (data|bus journal) in .*: stop it, or/);
          const { agent } = addresses(child.output());
          expect(second.output()).toContain('Trunkline already runs at ');
          expect(second.output()).toMatch(new RegExp(`${agent}, .*, process ${child.pid}\\.`));
        }),
      );
      await child.kill('SIGKILL');
      const next = trunkline(['up'], environment);
      await next.waitForLine('Ctrl-C stops everything', 60_000);
      expect(await next.kill('SIGTERM')).toMatchObject({ code: 0 });
      // It starts five processes and then another, for which alone it may wait a minute.
    });
  });
});

describe('one service alone', () => {
  describe('voice, with PORT and a home that is not there yet', () => {
    const home = temporaryHome();
    const path = join(home.path, 'data/trunkline');
    let child: Child;
    let url: string;
    beforeAll(async () => {
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      child = launch(['voice'], home, { PORT: String(port), TRUNKLINE_HOME: path });
      await child.waitForLine(url, 60_000);
    });
    afterAll(async () => {
      await child.kill();
      home.remove();
    });

    it('makes a home that nobody else on the machine may read', () => {
      expect(statSync(path).mode & 0o777).toBe(0o700);
    });

    it('[V072] [V073] serves its page and the assets of the page to anybody', async () => {
      const page = await fetch(url);
      expect(page.headers.get('content-type')).toContain('text/html');
      const assets = [...(await page.text()).matchAll(/(?:src|href)="\.?\/?(static\/[^"]+)"/g)].map(
        ([, asset]) => asset,
      );
      expect(assets.length).toBeGreaterThan(0);
      for (const asset of assets) expect((await fetch(`${url}/${asset}`)).status).toBe(200);
    });

    it('sees another service of its home live and die, and that one tells that its model is away', async () => {
      const gone = `http://127.0.0.1:${await freePort()}/v1`;
      const model = { LLM_GATEWAY_URL: gone, LLM_MODEL: 'any' };
      const other = launch(['research', '--port', '0'], home, { TRUNKLINE_HOME: path, ...model });
      cleanups.push(() => other.kill());
      const cause = `Cannot reach the model at ${gone}: connection refused. Check LLM_GATEWAY_URL.`;
      await other.waitForLine(cause, 60_000);
      const stateOf = async () => {
        const { services } = (await (await fetch(`${url}/healthz`)).json()) as {
          services: { name: string; url: string; state: string }[];
        };
        return services.find(({ name }) => name === 'research');
      };
      const research = await waitFor(stateOf);
      expect(research.state).toBe('live');
      const health = await fetch(`${research.url}/healthz`);
      expect([health.status, await health.json()]).toMatchObject([
        200,
        { ok: true, model: { name: 'any', url: gone, demo: false, problem: cause } },
      ]);
      await other.kill('SIGKILL');
      expect(await stateOf()).toBeUndefined();
    });

    it('[V002] listens on the port given by PORT, and stops when it is told to', async () => {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect(await child.kill('SIGTERM')).toMatchObject({ code: 0 });
    });
  });

  it.each(services)('%s explains its flags and variables with --help', async (name) => {
    const child = trunkline([name, '--help'], {});
    expect(await child.exited).toMatchObject({ code: 0 });
    expect(child.output()).toContain(`Usage: trunkline ${name}`);
    expect(child.output()).toContain('--port');
    expect(child.output()).toContain('LLM_GATEWAY_URL');
  });

  it('refuses an unknown flag and offers the nearest', async () => {
    const child = trunkline(['agent', '--prot', '1'], {});
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.output()).toContain('did you mean --port?');
  });
});

describe('trunkline', () => {
  it.each(['constructor', '__proto__', 'agnet'])('knows no command %s', async (name) => {
    const child = trunkline([name], {});
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.output()).toContain(`There is no command "${name}".`);
    expect(child.output().includes('Did you mean "agent"?')).toBe(name === 'agnet');
  });

  it('lists its commands with --help', async () => {
    const child = trunkline(['--help'], {});
    expect(await child.exited).toMatchObject({ code: 0 });
    for (const name of ['up', ...services, 'doctor', 'chat'])
      expect(child.output()).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  });

  it('reads variables from .env in the present folder, below the real environment', async () => {
    const files = { '.env': 'LOG_LEVEL=LOUD\n' };
    const child = trunkline(['voice'], {}, files);
    expect(await child.exited).toMatchObject({ code: 2 });
    expect(child.output()).toContain('LOG_LEVEL is "LOUD"');
    const stronger = trunkline(['voice'], { LOG_LEVEL: 'SILENT' }, files);
    expect(await stronger.exited).toMatchObject({ code: 2 });
    expect(stronger.output()).toContain('LOG_LEVEL is "SILENT"');
  });
});

function anyPorts(): Record<string, string> {
  return { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
}

function trunkline(
  args: string[],
  environment: Record<string, string>,
  files: Record<string, string> = {},
): Child {
  const home = temporaryHome();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home.path, name), text);
  const child = launch(args, home, environment);
  cleanups.push(home.remove, () => child.kill());
  return child;
}

function launch(args: string[], home: TemporaryHome, environment: Record<string, string>): Child {
  return startChild(launcher, {
    arguments: args,
    directory: home.path,
    environment: { ...home.environment, LLM_GATEWAY_URL: '', ...environment },
  });
}

function addresses(output: string): Record<string, string> {
  const found = output.matchAll(/^ {2}(\w+) +(http:\/\/\S+)/gm);
  return Object.fromEntries([...found].map((match) => [match[1] ?? '', match[2] ?? '']));
}

async function occupiedPort(): Promise<number> {
  const server: Server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as { port: number }).port;
}
