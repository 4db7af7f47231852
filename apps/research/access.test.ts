import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anonymous, encodePrincipal, type Principal } from '@trunkline/identity';
import type { Service } from '@trunkline/service';
import { freePort, noPeers, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startResearch } from './fixtures/service.ts';
import { exposureWarning } from './routes/guards.ts';

describe('RESEARCH_AUTH_TOKEN', () => {
  const home = temporaryDirectory();
  let service: Service;
  beforeAll(async () => {
    service = await startResearch(home.path, { RESEARCH_AUTH_TOKEN: 'sesame' });
  });
  afterAll(async () => {
    await service.stop();
    home.remove();
  });

  const status = async (request: string, headers: Record<string, string> = {}) => {
    const [method = '', path = ''] = request.split(' ');
    const body = method === 'POST' ? '{}' : undefined;
    const typed = { 'content-type': 'application/json', ...headers };
    return (await fetch(`${service.url}${path}`, { method, headers: typed, ...(body && { body }) })).status;
  };
  const bearer = { authorization: 'Bearer sesame' };

  it.each([
    'GET /api/research',
    'POST /api/research/deep',
    'GET /api/research/deep/x',
    'GET /api/research/deep/x/export?format=md',
    'POST /api/chat',
    'GET /api/chat',
    'DELETE /api/chat/x',
    'DELETE /api/research/x',
    'GET /api/files',
    'GET /v1/models',
    'POST /v1/chat/completions',
    'POST /v1/responses',
    'GET /v1/responses/x',
    'POST /mcp',
    'POST /a2a',
    'GET /tasks',
    'POST /message:send',
    'GET /metrics',
    'GET /docs',
    'GET /help',
    'GET /help/model',
    'GET /openapi.json',
  ])('is asked for by %s', async (request) => {
    expect(await status(request)).toBe(401);
    expect(await status(request, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await status(request, { authorization: 'Bearer sesam' })).toBe(401);
    expect(await status(request, bearer)).not.toBe(401);
  });

  it.each(['GET /healthz', 'GET /', 'GET /.well-known/agent-card.json'])(
    'is not asked for by %s',
    async (request) => {
      expect(await status(request)).not.toBe(401);
    },
  );

  it('gets told by /healthz what the endpoint of the model said, as strangers are not', async () => {
    const gateway = `http://127.0.0.1:${await freePort()}/v1`;
    const env = {
      RESEARCH_AUTH_TOKEN: 'sesame',
      TRUNKLINE_OPEN: '0',
      LLM_GATEWAY_URL: gateway,
      LLM_MODEL: 'm',
    };
    const own = temporaryDirectory();
    onTestFinished(own.remove);
    const closed = await startResearch(own.path, env);
    onTestFinished(() => closed.stop());
    const problem = async (headers: Record<string, string> = {}) =>
      (await (await fetch(`${closed.url}/healthz`, { headers })).json()).model.problem;
    await waitFor(async () => (await problem()) !== undefined);
    expect(await problem()).toBe('The model cannot be used (unreachable). The operator is told why.');
    const key = readFileSync(join(own.path, 'operator-key'), 'utf8').trim();
    expect(await problem({ 'x-operator-key': key })).toContain('Check LLM_GATEWAY_URL');
  });

  it('is not asked for by shared reports', async () => {
    expect(await status('GET /share/unknown/report')).toBe(404);
  });

  it('is told of under /v1 as OpenAI does', async () => {
    const response = await fetch(`${service.url}/v1/models`);
    expect(await response.json()).toMatchObject({ error: { type: 'authentication_error' } });
  });
});

describe('on whose behalf a service beside it asks', () => {
  const peers = noPeers();
  const start = async (env: Record<string, string>) => {
    const home = temporaryDirectory();
    const service = await startResearch(home.path, { TRUNKLINE_OPEN: '0', ...env }, [], peers);
    onTestFinished(async () => {
      await service.stop();
      home.remove();
    });
    return async (path: string, principal?: Principal) => {
      const headers = {
        authorization: `Bearer ${peers.serviceToken}`,
        ...(principal && { 'x-trunkline-principal': encodePrincipal(principal) }),
      };
      return (await fetch(`${service.url}${path}`, { headers })).status;
    };
  };
  const known = (['person', 'service', 'agent', 'operator'] as const).map((kind) => ({
    kind,
    id: `voice:${kind}`,
    via: ['voice'],
  }));

  it('decides whether A2A answers where a token is set', async () => {
    const ask = await start({ RESEARCH_AUTH_TOKEN: 'sesame' });
    for (const principal of known) expect(await ask('/tasks', principal)).toBe(200);
    expect(await ask('/tasks', { ...anonymous, via: ['voice'] })).toBe(401);
    expect(await ask('/tasks')).toBe(401);
    for (const principal of known.slice(0, 3)) expect(await ask('/api/files', principal)).toBe(401);
  });

  it('does not matter where it is open to all', async () => {
    const ask = await start({});
    expect(await ask('/tasks', { ...anonymous, via: ['voice'] })).toBe(200);
  });
});

/** Open to everyone, whatever is set. */
const open = [
  'GET /healthz',
  'GET /operator',
  'POST /operator',
  'DELETE /operator',
  'GET /share/:token/report',
];
/** What the token opens, or everybody where there is none. None of it configures the service or runs a program. */
const work = [
  'POST /api/chat',
  'GET /api/chat',
  'GET /api/chat/:id',
  'GET /api/research',
  'POST /api/research/deep',
  'GET /api/research/deep/:id',
  'DELETE /api/research/deep/:id',
  'GET /api/research/deep/:id/status',
  'GET /api/research/deep/:id/evidence',
  'GET /api/research/deep/:id/export',
  'POST /api/research/deep/:id/plan',
  'POST /api/research/deep/:id/resume',
  'POST /api/research/deep/:id/rerun',
  'GET /api/research/deep/:id/questions',
  'POST /api/research/deep/:id/questions',
  'POST /api/research/deep/:id/share',
  'DELETE /api/research/deep/:id/share',
  'POST /api/files',
  'GET /api/files',
  'GET /api/files/:id',
  'GET /api/offline/:work/:id',
  'DELETE /api/files/:id',
  'DELETE /api/chat/:id',
  'DELETE /api/research/:id',
  'GET /v1/models',
  'GET /v1/models/:id',
  'POST /v1/chat/completions',
  'POST /v1/responses',
  'GET /v1/responses/:id',
  'DELETE /v1/responses/:id',
  'POST /v1/responses/:id/cancel',
  'GET /v1/responses/:id/input_items',
  'POST /v1/responses/input_tokens',
  'POST /v1/responses/compact',
  'POST /v1/conversations',
  'GET /v1/conversations/:id',
  'POST /v1/conversations/:id',
  'DELETE /v1/conversations/:id',
  'POST /v1/conversations/:id/items',
  'GET /v1/conversations/:id/items',
  'GET /v1/conversations/:id/items/:item',
  'DELETE /v1/conversations/:id/items/:item',
  'ALL /mcp',
  'POST /mcp',
  'GET /mcp',
  'DELETE /mcp',
  'GET /metrics',
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/:file',
  'GET /help',
  'GET /help/*',
  'GET /.well-known/jwks.json',
  'GET /help/images/:name',
  // Asks for a code that is used up by the first who shows it.
  'GET /operator/enter',
];
/** For the operator alone. */
const operators = /^\w+ \/operator\/(accounts|audit|policy|posture|secrets|settings|setup)(\/|$)/;
const a2a =
  /^\w+ \/(\.well-known\/agent(-card)?\.json$|(v1\/)?(a2a(\/|$)|message:|tasks(\/|$)|card$|extendedAgentCard$))/;

it('every route is in a list of who may call it', async () => {
  const home = temporaryDirectory();
  const service = await startResearch(home.path);
  onTestFinished(async () => {
    await service.stop();
    home.remove();
  });
  const routes = service.routes().map(({ method, path }) => `${method} ${path}`);
  const decided = [...open, ...work];
  const undecided = routes.filter(
    (route) => !decided.includes(route) && ![a2a, operators].some((pattern) => pattern.test(route)),
  );
  expect(undecided.filter((route) => !route.endsWith('*'))).toEqual([]);
  expect(decided.filter((route) => !routes.includes(route))).toEqual([]);
});

it('is recommended where the service is reached from outside', () => {
  expect(exposureWarning('127.0.0.1', undefined)).toBeUndefined();
  expect(exposureWarning('0.0.0.0', 'sesame')).toBeUndefined();
  expect(exposureWarning('0.0.0.0', undefined)).toContain('RESEARCH_AUTH_TOKEN');
});
