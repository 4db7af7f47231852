import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import {
  accountPrincipal,
  encodePrincipal,
  type Principal,
  principalHeader,
  type Role,
} from '@trunkline/identity';
import { readSecurity, statusOf } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  concrete,
  keyOf,
  keys,
  type Locked,
  type Name,
  names,
  rawGet,
  sideUrls,
  startLocked,
} from './security.suite.ts';

/** Who may use which route. A route that stands in no class fails the test, and so does one that is gone. */
const { principals, classes, routes: classified } = readSecurity<AuthorisationTable>('authorisation');

const strangers: { who: string; headers: Record<string, string> }[] = [
  { who: 'a key that begins with the right one', headers: bothWays(`${keys.a2a}x`) },
  { who: 'the right token under another scheme', headers: { authorization: `Basic ${keys.a2a}` } },
];

function bothWays(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'x-api-key': key };
}

/** Keys that do not fit are counted by address: each test comes from its own. */
const elsewhere = { 'x-forwarded-for': '192.0.2.7' };
const scopedKey = 'scoped-key-of-ci';

interface AuthorisationTable {
  principals: Record<string, string>;
  classes: Record<string, { text: string; allows: string[] }>;
  routes: Record<Name | 'all', Record<string, string[]>>;
}

let locked: Locked;
beforeAll(async () => {
  locked = await startLocked({
    files: {
      'switchboard/workspace/keys.yaml':
        'keys: [{ name: ci, envKey: CI_KEY, publish: ["note.#"], subscribe: ["note.#"] }]',
    },
    env: {
      TRUNKLINE_OPEN: '0',
      REQUEST_LIMIT: '0',
      TRUSTED_PROXIES: '127.0.0.1',
      CI_KEY: scopedKey,
      TRANSLATOR_PORT: '0',
      CODEHOST_TOKEN: 'token-of-the-code-host',
      CODEHOST_WEBHOOK_SECRET: 'secret-of-the-code-host',
      CODEHOST_API_URL: 'http://127.0.0.1:9',
      TRACKER_API_KEY: 'key-of-the-tracker',
      TRACKER_WEBHOOK_SECRET: 'secret-of-the-tracker',
      TRACKER_API_URL: 'http://127.0.0.1:9',
    },
  });
});
afterAll(() => locked.stop());

/** Headers of every principal of the table, for a path of a service. */
function headersOf(): Record<string, (name: Name, path: string) => Record<string, string>> {
  const read = (file: string) => readFileSync(join(locked.home, file), 'utf8').trim();
  const accounts = openAccounts({ home: locked.home, logger: { warn: () => undefined } });
  const keyFor = (role: Role) => {
    const { id } = accounts.create({ name: `the ${role}`, role });
    return { id, ...accounts.createKey(id, 'test') };
  };
  const account = (role: Role) => {
    const { key } = keyFor(role);
    return () => bothWays(key);
  };
  const handedOn = (principal: Omit<Principal, 'via'>, by = 'voice') => {
    const encoded = encodePrincipal({ ...principal, via: [by] });
    return () => ({ authorization: `Bearer ${read('family-secret')}`, [principalHeader]: encoded });
  };
  const [revoked, disabled] = [keyFor('operator'), keyFor('operator')];
  accounts.revokeKey(revoked.keyId);
  accounts.update(disabled.id, { disabled: true });
  return {
    anonymous: () => ({}),
    'wrong key': () => bothWays('wrong'),
    'revoked key': () => ({ ...bothWays(revoked.key), ...elsewhere }),
    'disabled account': () => ({ ...bothWays(disabled.key), ...elsewhere }),
    guest: account('guest'),
    member: account('member'),
    program: (name, path) => (name === 'switchboard' ? bothWays(scopedKey) : keyOf(name, path)),
    'handed-on anonymous': handedOn({ kind: 'anonymous', id: 'anonymous' }),
    'handed-on guest': handedOn(accountPrincipal(keyFor('guest').id, 'guest')),
    'handed-on member': handedOn(accountPrincipal(keyFor('member').id, 'member')),
    approver: handedOn({ kind: 'approver', id: 'chat:4711' }, 'switchboard'),
    schedule: handedOn({ kind: 'schedule', id: 'schedule:tea' }, 'switchboard'),
    service: handedOn({ kind: 'service', id: 'research' }, 'research'),
    'handed-on operator': handedOn({ kind: 'operator', id: 'operator' }),
    'operator account': account('operator'),
    'owner account': account('owner'),
    operator: () => ({ 'x-operator-key': read('operator-key') }),
  };
}

describe.each(names)('%s', (name) => {
  it('lets every principal in where the class of a route names them, and nowhere else', async () => {
    const { url, routes } = locked.target(name);
    const given = headersOf();
    expect(Object.keys(given)).toEqual(Object.keys(principals));
    const answers = await Promise.all(
      routes().map(async ({ method, path }) => {
        const letIn: string[] = [];
        for (const [who, headers] of Object.entries(given)) {
          const status = await statusOf(url + concrete(path), method, headers(name, path));
          if (status !== 401 && status !== 403) letIn.push(who);
        }
        const route = `${method} ${path}`;
        const allowed = classOf(name, route)?.allows ?? 'give it a class in security/authorisation.yaml';
        return { route, letIn, allowed };
      }),
    );
    expect(answers.filter(({ letIn, allowed }) => String(letIn) !== String(allowed))).toEqual([]);
    expect(answers.length).toBeGreaterThan(50);
    const there = new Set(answers.map(({ route }) => route));
    const listed = listedFor(name).flatMap(([, paths]) => paths);
    expect(listed.filter((route) => !there.has(route))).toEqual([]);
  });

  it.each(strangers)('refuses $who at every route that is not public', async ({ headers }) => {
    const { url, routes } = locked.target(name);
    const guarded = routes().filter(
      ({ method, path }) => classOf(name, `${method} ${path}`) !== classes.public,
    );
    const entered = await Promise.all(
      guarded.map(async ({ method, path }) => {
        const refused = [401, 403].includes(
          await statusOf(url + concrete(path), method, { ...headers, 'x-forwarded-for': '192.0.2.8' }),
        );
        return refused ? [] : [`${method} ${path}`];
      }),
    );
    expect(entered.flat()).toEqual([]);
  });

  it('lets its own key in, and refuses those of the others', async () => {
    const path = {
      voice: '/api/whoami',
      agent: '/api/tools',
      research: '/api/files',
      switchboard: '/api/agents',
    }[name];
    const { url } = locked.target(name);
    expect(await statusOf(url + path, 'GET', keyOf(name, path))).toBe(200);
    const own = Object.values(keyOf(name, path)).join();
    for (const key of Object.values(keys).filter((each) => !own.includes(each)))
      expect({ key, status: await statusOf(url + path, 'GET', { ...bothWays(key), ...elsewhere }) }).toEqual({
        key,
        status: 401,
      });
  });

  it('cannot be talked round by another spelling of a path', async () => {
    const path = {
      voice: 'api/whoami',
      agent: 'api/tools',
      research: 'api/files',
      switchboard: 'api/agents',
    }[name];
    const spellings = [
      `//${path}`,
      `/./${path}`,
      `/docs/../${path}`,
      `/%2e/${path}`,
      `/docs/%2e%2e/${path}`,
      `/%61pi${path.slice(3)}`,
      `/${path.replace('/', '%2f')}`,
      `/${path}/`,
      `/${path};x=1`,
      `/${path}?token=wrong&api_key=wrong`,
      `/${path.toUpperCase()}`,
      `/healthz/../${path}`,
    ];
    const { url } = locked.target(name);
    const entered = [];
    for (const spelling of spellings) {
      const { status } = await rawGet(url, spelling);
      if (status < 400) entered.push(`${spelling} answered ${status}`);
    }
    expect(entered).toEqual([]);
  });

  it('asks for the key also where a caller names another method', async () => {
    const { url, routes } = locked.target(name);
    const path = name === 'voice' ? '/api/verbosity' : '/api/chat';
    const headers = { 'x-http-method-override': 'GET', 'x-method-override': 'GET' };
    expect(routes().length).toBeGreaterThan(0);
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])
      expect(await statusOf(url + path, method, headers)).toBe(401);
  });
});

it('the token that other agents hold opens no door of the operator, where the operator has a token', async () => {
  const operator = 'token-of-the-operator';
  const separated = await startLocked({ env: { CORE_OPERATOR_TOKEN: operator } });
  onTestFinished(() => separated.stop());
  const { url, routes } = separated.target('agent');
  const doors = routes().filter(
    ({ path }) => (path.startsWith('/api/') && path !== '/api/events') || path === '/mcp',
  );
  expect(doors.length).toBeGreaterThan(50);
  const entered = await Promise.all(
    doors.map(async ({ method, path }) => {
      const status = await statusOf(url + concrete(path), method, bothWays(keys.a2a));
      return status === 401 ? [] : [`${method} ${path}`];
    }),
  );
  expect(entered.flat()).toEqual([]);
  expect(await statusOf(`${url}/api/tools`, 'GET', bothWays(operator))).toBe(200);
  expect(await statusOf(`${url}/tasks`, 'GET', bothWays(keys.a2a))).toBe(200);
  expect(await statusOf(`${url}/v1/models`, 'GET', bothWays(keys.a2a))).toBe(200);
  expect(await statusOf(`${url}/tasks`, 'GET', bothWays(operator))).toBe(401);
  expect(separated.log.join('')).not.toContain(operator);
});

describe('ports beside those of the services', () => {
  const own = ['/healthz', '/openapi.json', '/docs', '/docs/style.css'];

  async function guardedPaths(name: Parameters<typeof sideUrls>[1]): Promise<string[]> {
    const { origin } = new URL(await sideUrls(locked, name));
    const { paths } = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
    const guarded = Object.keys(paths).filter((path) => !own.includes(path));
    expect(guarded.length).toBeGreaterThan(0);
    return guarded.map((path) => origin + path);
  }

  it.each(['codehost', 'tracker'] as const)(
    '%s refuses what is not signed, the operator too',
    async (name) => {
      const { operator, 'owner account': owner, service } = headersOf();
      const known = [operator, owner, service].map((headers) => headers?.('switchboard', '/') ?? {});
      for (const url of await guardedPaths(name))
        for (const headers of [...strangers.map((each) => each.headers), ...known])
          expect(await statusOf(url, 'POST', headers)).toBe(401);
    },
  );

  it('the translator lets in whoever has a key of users.yaml, and nobody else', async () => {
    for (const url of await guardedPaths('translator')) {
      const letIn: string[] = [];
      for (const [who, headers] of Object.entries(headersOf()))
        if ((await statusOf(url, 'POST', headers('voice', '/api/'))) !== 401) letIn.push(who);
      expect({ url, letIn }).toEqual({ url, letIn: ['program'] });
      for (const { headers } of strangers) expect(await statusOf(url, 'POST', headers)).toBe(401);
    }
  });
});

function classOf(name: Name, route: string): AuthorisationTable['classes'][string] | undefined {
  const found = listedFor(name).find(([, listed]) => listed.includes(route));
  return found && classes[found[0]];
}

/** The classes of a service with their routes, those of all services too. */
function listedFor(name: Name): [string, string[]][] {
  return [...Object.entries(classified.all), ...Object.entries(classified[name])];
}
