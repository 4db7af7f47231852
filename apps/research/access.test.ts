import type { Service } from '@trunkline/service';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
    'GET /api/files',
    'GET /v1/models',
    'POST /v1/chat/completions',
    'POST /mcp',
    'POST /a2a',
    'GET /tasks',
    'POST /message:send',
    'GET /metrics',
    'GET /docs',
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

  it('is not asked for by shared reports', async () => {
    expect(await status('GET /share/unknown/report')).toBe(404);
  });

  it('is told of under /v1 as OpenAI does', async () => {
    const response = await fetch(`${service.url}/v1/models`);
    expect(await response.json()).toMatchObject({ error: { type: 'authentication_error' } });
  });
});

it('is recommended where the service is reached from outside', () => {
  expect(exposureWarning('127.0.0.1', undefined)).toBeUndefined();
  expect(exposureWarning('0.0.0.0', 'sesame')).toBeUndefined();
  expect(exposureWarning('0.0.0.0', undefined)).toContain('RESEARCH_AUTH_TOKEN');
});
