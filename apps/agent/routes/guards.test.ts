import { statusOf } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../fixtures/start-agent.ts';

const token = 'the-operator-token';
const key = 'the-agent-key';

type Guard = 'public' | 'bearer' | 'bearer and key';

/** What the contract says of each path; a new route falls under one of these or the test fails. */
function expectedGuard(path: string): Guard | undefined {
  if (/^\/(healthz|metrics|api\/events|docs|help|openapi\.json)(\/|$)/.test(path)) return 'public';
  // What is below is the operator's alone; these agents run with TRUNKLINE_OPEN, where everybody is the operator.
  if (/^\/(operator|trust)(\/|$)/.test(path)) return 'public';
  // A browser comes back to it, with the state and the cookie of a sign-in that the operator has begun.
  if (path === '/oauth/mcp/callback') return 'public';
  // MCP clients get their tokens here: a person who is signed in allows them, and sees and ends them.
  if (/^\/oauth\/(authorize|programs|register|revoke|token)$/.test(path)) return 'public';
  // The signature in a link of an hour is what lets somebody in.
  if (path === '/files/:id') return 'public';
  if (path.startsWith('/.well-known/') || path === '/app' || path.startsWith('/app/')) return 'public';
  if (path.startsWith('/api/') || path === '/mcp') return 'bearer';
  if (/^\/(a2a|v1|message:|tasks|extendedAgentCard)/.test(path)) return 'bearer and key';
  return undefined;
}

const presented: { name: string; headers: Record<string, string>; bearer: boolean; key: boolean }[] = [
  { name: 'nothing', headers: {}, bearer: false, key: false },
  { name: 'the token', headers: { authorization: `Bearer ${token}` }, bearer: true, key: false },
  { name: 'the key', headers: { 'x-api-key': key }, bearer: false, key: true },
  {
    name: 'both',
    headers: { authorization: `Bearer ${token}`, 'x-api-key': key },
    bearer: true,
    key: true,
  },
  { name: 'a wrong token', headers: { authorization: 'Bearer wrong' }, bearer: false, key: false },
  {
    name: 'the token in the wrong place',
    headers: { 'x-api-key': token, authorization: `Bearer ${key}` },
    bearer: false,
    key: false,
  },
  {
    name: 'the token with another scheme',
    headers: { authorization: `Basic ${token}` },
    bearer: false,
    key: false,
  },
];

const settings = {
  neither: {},
  'the token alone': { A2A_AUTH_TOKEN: token },
  'the key alone': { TRUNKLINE_AGENT_API_KEY: key },
  both: { A2A_AUTH_TOKEN: token, TRUNKLINE_AGENT_API_KEY: key },
  'a blank token': { A2A_AUTH_TOKEN: '  ' },
};

describe.each(Object.entries(settings))(
  'with %s set [A146] [A147] [A148] [A149] [A031] [A040] [A174]',
  (_, env) => {
    let agent: TestAgent;
    beforeAll(async () => {
      agent = await startAgent({ env });
    });
    afterAll(() => agent.stop());

    const wants = {
      bearer: (env as { A2A_AUTH_TOKEN?: string }).A2A_AUTH_TOKEN === token,
      key: 'TRUNKLINE_AGENT_API_KEY' in env,
    };

    // Where nothing is asked for, it does not matter what is shown.
    const shows = wants.bearer || wants.key ? presented : presented.slice(0, 1);
    it.each(shows)('every route lets $name in or refuses it as the contract says', async (shown) => {
      const check = async ({ method, path }: { method: string; path: string }): Promise<string[]> => {
        const guard = expectedGuard(path);
        if (guard === undefined) return [`${method} ${path} falls under no rule`];
        const needsBearer = guard !== 'public' && wants.bearer;
        const needsKey = guard === 'bearer and key' && wants.key;
        const isOpen = (!needsBearer || shown.bearer) && (!needsKey || shown.key);
        const status = await statusOf(`${agent.url}${concrete(path)}`, method, shown.headers);
        return isOpen === (status === 401) ? [`${method} ${path} answered ${status}`] : [];
      };
      // A one-time link answers 401 to whoever has no code.
      const routes = agent.routes().filter(({ path }) => path !== '/operator/enter');
      const wrong = (await Promise.all(routes.map(check))).flat();
      expect(agent.routes().length).toBeGreaterThan(40);
      expect(wrong).toEqual([]);
    });

    it('says in the log when anybody may drive the agent', () => {
      const warned = agent.log.some((line) =>
        line.includes('A2A is open: anyone who reaches this port can drive the agent'),
      );
      expect(warned).toBe(!wants.bearer && !wants.key);
    });
  },
);

function concrete(path: string): string {
  return path
    .replace(/:(\w+)\{[^}]*:(\w+)\}/g, 'nobody:$2')
    .replace(/:[A-Za-z]+(?=\/|$)/g, (name) => (path.startsWith('/message') ? name : 'nobody'))
    .replace('*', 'nothing');
}
