import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, freePort, startChild, temporaryHome } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorHeaders } from '../operator/operator-headers.ts';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const names = ['VOICE_PORT', 'AGENT_PORT', 'RESEARCH_PORT', 'SWITCHBOARD_PORT'];
/** The pages may have to be built first. */
const START_LIMIT_MS = 300_000;
const cleanups: (() => unknown)[] = [];
const home = temporaryHome();
let ports: Record<string, string>;
let up: Child;

/** As people run it: with the operator's key. */
function run(argv: string[], environment: Record<string, string> = {}): Child {
  const child = startChild(launcher, {
    arguments: argv,
    directory: home.path,
    environment: {
      ...home.environment,
      TRUNKLINE_HOME: home.path,
      TRUNKLINE_OPEN: '0',
      LLM_GATEWAY_URL: '',
      A2A_AUTH_TOKEN: '',
      ...ports,
      ...environment,
    },
  });
  cleanups.push(() => child.kill());
  return child;
}

async function freePorts(): Promise<Record<string, string>> {
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, String(await freePort())] as const)),
  );
}

beforeAll(async () => {
  ports = await freePorts();
  // The agent asks strangers for a token.
  up = run(['up'], { A2A_AUTH_TOKEN: 'token-of-the-agents' });
  await up.waitForLine('Ctrl-C stops everything', START_LIMIT_MS);
}, START_LIMIT_MS);
afterAll(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  home.remove();
});

/** Opens a link as a browser does: gives the status, and the cookie that came with it. */
async function enter(link: string): Promise<{ status: number; cookie: string }> {
  const { status, headers } = await fetch(link, { redirect: 'manual' });
  return { status, cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
}

const at = (name: string, path: string) => `http://127.0.0.1:${ports[`${name.toUpperCase()}_PORT`]}${path}`;

describe('npm start', () => {
  it('prints a link that signs one browser in to all four services, once', async () => {
    const link = /Open as operator: (\S+)/.exec(up.output())?.[1] ?? '';
    expect(link).toContain(at('agent', '/operator/enter?code='));
    const { status, cookie } = await enter(link);
    expect(status).toBe(303);
    for (const name of ['voice', 'agent', 'research', 'switchboard']) {
      expect(await stateOf(name, {})).toMatchObject({ operator: false });
      expect(await stateOf(name, { cookie })).toMatchObject({ operator: true });
    }
    expect(await enter(link)).toEqual({ status: 401, cookie: '' });
  });

  it('keeps the key in a file that only its owner reads, and out of what it prints', () => {
    expect(statSync(join(home.path, 'operator-key')).mode & 0o777).toBe(0o600);
    const key = operatorHeaders(at('agent', ''), home.path, {})['x-operator-key'] ?? '';
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(up.output()).not.toContain(key);
  });
});

describe('trunkline login', () => {
  it('prints a fresh link for each service that runs', async () => {
    const login = run(['login']);
    expect(await login.exited).toMatchObject({ code: 0 });
    const links = login.output().match(/http:\S+enter\?code=\S+/g) ?? [];
    expect(links.map((link) => new URL(link).port).sort()).toEqual(Object.values(ports).sort());
    for (const link of links) expect((await enter(link)).status).toBe(303);
  });

  it('finds services of its home at other ports than its own settings name', async () => {
    const login = run(['login'], await freePorts());
    expect(await login.exited).toMatchObject({ code: 0 });
    const links = login.output().match(/http:\S+enter\?code=\S+/g) ?? [];
    expect(links.map((link) => new URL(link).port).sort()).toEqual(Object.values(ports).sort());
  });

  it('says so when nothing runs', async () => {
    const other = temporaryHome();
    cleanups.push(other.remove);
    const login = run(['login'], { ...(await freePorts()), TRUNKLINE_HOME: other.path });
    expect(await login.exited).toMatchObject({ code: 1 });
    expect(login.output()).toContain('No service runs. Start them with "npm start"');
  });

  it('says which home the services run in when it is another one', async () => {
    const other = temporaryHome();
    cleanups.push(other.remove);
    const login = run(['login'], { TRUNKLINE_HOME: other.path });
    expect(await login.exited).toMatchObject({ code: 1 });
    expect(login.output()).toContain(
      `Set TRUNKLINE_HOME to the folder of ${join(home.path, 'operator-key')}`,
    );
    expect(login.output()).not.toContain('code=');
  });
});

describe('the command line', () => {
  it('is the operator for the services of its home', async () => {
    const chat = run(['chat']);
    chat.write('what is 2+2\n');
    await chat.waitForLine('2+2 = 4');
    chat.write('\n');
    expect(await chat.exited).toMatchObject({ code: 0 });
  });
});

async function stateOf(name: string, headers: Record<string, string>): Promise<unknown> {
  return await (await fetch(at(name, '/operator'), { headers })).json();
}
