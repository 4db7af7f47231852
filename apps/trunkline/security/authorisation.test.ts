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

/** The description of the API and its style say nothing that the source does not. */
const description = ['GET /openapi.json', 'GET /docs', 'GET /docs/style.css'];
/** Cards are how agents that do not know each other yet meet; they say which key to show. */
const cards = ['GET /.well-known/agent-card.json', 'GET /.well-known/agent.json'];

/** How a browser becomes the operator's; the one-time link is refused without a code that is good. */
const signIn = ['GET /operator', 'POST /operator', 'DELETE /operator'];

/** Everything that answers without a key. A route that is neither guarded nor named here fails the test. */
const open: Record<Name, readonly string[]> = {
  // The contract leaves metrics to the network; the card asks for the token, as its callers do.
  voice: ['GET /healthz', 'GET /metrics', ...signIn, ...description],
  // The feed of events carries no content: the contract leaves it open to dashboards.
  agent: ['GET /healthz', 'GET /metrics', 'GET /api/events', ...signIn, ...cards, ...description],
  // The token in the path of a shared report is what opens it.
  research: ['GET /healthz', 'GET /share/:token/report', ...signIn, ...cards],
  // Each task that an agent calls back about has a token of its own, checked by the route.
  switchboard: [
    'GET /healthz',
    'GET /ready',
    'GET /metrics',
    'POST /api/a2a/callback/:taskId',
    ...signIn,
    ...cards,
    ...description,
  ],
};

const strangers: { who: string; headers: Record<string, string> }[] = [
  { who: 'nothing', headers: {} },
  { who: 'a wrong key', headers: bothWays('wrong') },
  { who: 'a key that begins with the right one', headers: bothWays(`${keys.a2a}x`) },
  { who: 'the right token under another scheme', headers: { authorization: `Basic ${keys.a2a}` } },
];

function bothWays(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'x-api-key': key };
}

let locked: Locked;
beforeAll(async () => {
  locked = await startLocked({
    env: {
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

describe.each(names)('%s', (name) => {
  it.each(strangers)('refuses $who at every route that is not on the list', async ({ headers }) => {
    const { url, routes } = locked.target(name);
    const listed = routes();
    const answers = await Promise.all(
      listed.map(async ({ method, path }) => {
        const route = `${method} ${path}`;
        const refused = [401, 403].includes(await statusOf(url, method, concrete(path), headers));
        return refused === open[name].includes(route) ? [route] : [];
      }),
    );
    expect(answers.flat()).toEqual([]);
    expect(listed.length).toBeGreaterThan(50);
  });

  it('has no route on the list that is gone', () => {
    const there = new Set(
      locked
        .target(name)
        .routes()
        .map(({ method, path }) => `${method} ${path}`),
    );
    expect(open[name].filter((route) => !there.has(route))).toEqual([]);
  });

  it('lets its own key in, and refuses those of the others', async () => {
    const path = {
      voice: '/api/whoami',
      agent: '/api/tools',
      research: '/api/files',
      switchboard: '/api/agents',
    }[name];
    const { url } = locked.target(name);
    expect(await statusOf(url, 'GET', path, keyOf(name, path))).toBe(200);
    const own = Object.values(keyOf(name, path)).join();
    for (const key of Object.values(keys).filter((each) => !own.includes(each)))
      expect({ key, status: await statusOf(url, 'GET', path, bothWays(key)) }).toEqual({ key, status: 401 });
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
      expect(await statusOf(url, method, path, headers)).toBe(401);
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
      const status = await statusOf(url, method, concrete(path), bothWays(keys.a2a));
      return status === 401 ? [] : [`${method} ${path}`];
    }),
  );
  expect(entered.flat()).toEqual([]);
  expect(await statusOf(url, 'GET', '/api/tools', bothWays(operator))).toBe(200);
  expect(await statusOf(url, 'GET', '/tasks', bothWays(keys.a2a))).toBe(200);
  expect(await statusOf(url, 'GET', '/v1/models', bothWays(keys.a2a))).toBe(200);
  expect(await statusOf(url, 'GET', '/tasks', bothWays(operator))).toBe(401);
  expect(separated.log.join('')).not.toContain(operator);
});

describe('ports beside those of the services', () => {
  const own = ['/healthz', '/openapi.json', '/docs', '/docs/style.css'];

  it.each(['codehost', 'tracker', 'translator'] as const)('%s refuses what is not signed', async (name) => {
    const { origin } = new URL(await sideUrls(locked, name));
    const { paths } = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
    const guarded = Object.keys(paths).filter((path) => !own.includes(path));
    expect(guarded.length).toBeGreaterThan(0);
    for (const path of guarded)
      for (const { headers } of strangers) expect(await statusOf(origin, 'POST', path, headers)).toBe(401);
  });
});

/** A request that does nothing where it is let in: its body is of no use. */
async function statusOf(url: string, method: string, path: string, headers: Record<string, string>) {
  const controller = new AbortController();
  const hasBody = ['POST', 'PUT', 'PATCH', 'ALL'].includes(method);
  const response = await fetch(url + path, {
    method: method === 'ALL' ? 'POST' : method,
    headers: { 'content-type': 'application/json', ...headers },
    signal: controller.signal,
    ...(hasBody && { body: '"nothing"' }),
  });
  controller.abort();
  return response.status;
}
