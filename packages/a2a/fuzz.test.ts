import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName } from './fixtures/agents.ts';
import { headers, known, params, request } from './fixtures/arbitraries.ts';
import { rpc, saying } from './fixtures/calls.ts';
import type { TestAgent } from './fixtures/start-agent.ts';

const startAgent = agentsOfThisFile();
let agent: TestAgent;

beforeAll(async () => {
  agent = await startAgent(asksForName, { push: { allowedHosts: ['nowhere.invalid'] } });
  const tasks = await Promise.all(['one', 'two'].map((text) => rpc(agent, 'message/send', saying(text))));
  known.push(...tasks.map(({ result }) => String(result.id)));
});

/** Calls and looks at the answer as far as a stream's first bytes; a hang ends in an error. A reader that comes back may have missed nothing. */
async function call(
  path: string,
  init: RequestInit & { headers: Record<string, string> },
): Promise<{ status: number; type: string; text: string }> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`No answer from ${path}`)), 10_000);
  try {
    const response = await fetch(`${agent.url}${path}`, { ...init, signal: controller.signal });
    const type = response.headers.get('content-type') ?? '';
    if (!type.startsWith('text/event-stream'))
      return { status: response.status, type, text: await response.text() };
    const reader = response.body?.getReader();
    const first = 'last-event-id' in init.headers ? undefined : await reader?.read();
    await reader?.cancel();
    return { status: response.status, type, text: new TextDecoder().decode(first?.value) };
  } finally {
    clearTimeout(timer);
  }
}

function checkEnvelope(envelope: unknown): void {
  const { jsonrpc, id, result, error } = envelope as Record<string, unknown>;
  expect(jsonrpc).toBe('2.0');
  expect(id === null || typeof id === 'string' || typeof id === 'number').toBe(true);
  expect(result === undefined).toBe(error !== undefined);
  if (error !== undefined) {
    const { code, message: said } = error as { code: number; message: string };
    expect([-32700, -32600, -32601, -32602, -32001, -32002, -32004, -32005, -32007, -32009]).toContain(code);
    expect(said).not.toBe('');
  }
}

async function checkRpc(body: string, given: Record<string, string>): Promise<void> {
  const answer = await call('/a2a', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...given },
  });
  if (answer.status === 204 || answer.type.startsWith('text/event-stream')) return;
  expect(answer.status).toBe(200);
  const parsed: unknown = JSON.parse(answer.text);
  for (const envelope of Array.isArray(parsed) ? parsed : [parsed]) checkEnvelope(envelope);
}

describe('whatever comes in', () => {
  it('answers every JSON at /a2a with a result or an error that the protocol knows', async () => {
    const body = fc.oneof(
      { weight: 8, arbitrary: request },
      { weight: 1, arbitrary: fc.array(request, { maxLength: 4 }) },
    );
    await fc.assert(
      fc.asyncProperty(body, headers, async (json, given) => {
        await checkRpc(JSON.stringify(json) ?? '', given);
      }),
      { numRuns: 600 },
    );
    expect(agent.logger.errors()).toEqual([]);
  });

  it('answers every text at /a2a', async () => {
    const broken = fc.tuple(request, fc.nat(), fc.string({ maxLength: 3 })).map(([json, at, insert]) => {
      const text = JSON.stringify(json);
      const place = at % (text.length + 1);
      return text.slice(0, place) + insert + text.slice(place + 1);
    });
    await fc.assert(fc.asyncProperty(fc.oneof(broken, fc.string()), headers, checkRpc), { numRuns: 300 });
    await checkRpc('['.repeat(100_000), {});
    await checkRpc(`${'{"params":'.repeat(5000)}1${'}'.repeat(5000)}`, {});
    await checkRpc('{"__proto__":{"jsonrpc":"2.0","method":"tasks/get"},"id":1}', {});
    expect(agent.logger.errors()).toEqual([]);
  });

  it('answers every path of the REST forms without a fault of its own', async () => {
    const segment = fc.oneof(
      fc.nat(1).map((index) => known[index] ?? ''),
      fc.constantFrom(
        'nowhere',
        '%00',
        '%E2%82',
        '..',
        ':cancel',
        'x:subscribe',
        'pushNotificationConfigs',
        'a'.repeat(2000),
      ),
    );
    const path = fc
      .tuple(
        fc.constantFrom('', '/a2a', '/v1', '/a2a/v1'),
        fc.oneof(
          fc.constantFrom('/message:send', '/message:stream', '/tasks', '/extendedAgentCard', '/card'),
          segment.map((id) => `/tasks/${id}`),
          fc
            .tuple(segment, fc.constantFrom(':cancel', ':subscribe'))
            .map(([id, action]) => `/tasks/${id}${action}`),
          fc
            .tuple(segment, fc.constantFrom('', '/', '/x'))
            .map(([id, rest]) => `/tasks/${id}/pushNotificationConfigs${rest}`),
          segment.map((id) => `/tasks/${id}/pushDeliveries`),
        ),
        fc.constantFrom(
          '',
          '?pageSize=x',
          '?pageSize=1&historyLength=-1',
          '?status=none',
          '?A2A-Version=1.0',
          '?__proto__=1',
        ),
      )
      .map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.constantFrom('GET', 'GET', 'POST', 'POST', 'DELETE', 'PUT'),
        params,
        headers,
        async (at, method, json, given) => {
          const body = method === 'POST' ? { body: JSON.stringify(json) ?? '' } : {};
          const answer = await call(at, {
            method,
            headers: { 'content-type': 'application/json', ...given },
            ...body,
          });
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: 500 },
    );
    expect(agent.logger.errors()).toEqual([]);
  });

  it('still works after all that', async () => {
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    expect(result).toMatchObject({ status: { state: 'input-required' } });
    expect(agent.engine.running).toBe(0);
  });
});
