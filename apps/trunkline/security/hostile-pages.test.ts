import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, type Locked, obey, startLocked } from './security.suite.ts';

/** Every end tag looks through all open elements: parsing these 2 MB takes seconds. */
const hostile = `${'<div>'.repeat(1900)}${'</p>'.repeat(480_000)}`;
/** Answers under way that lack only their end, by path. */
const almostDone = new Map<string, PromiseWithResolvers<ServerResponse>>();
const pages = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.write(hostile, () => almostDone.get(request.url ?? '')?.resolve(response));
});
/** Paths whose text the model was given, and services whose turn has ended. */
const read = new Set<string>();
const over = new Set<string>();
let model: Awaited<ReturnType<typeof startModelServer>>;
let locked: Locked;

beforeAll(async () => {
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  model = await startModelServer({
    script: (request) => {
      for (const name of almostDone.keys()) {
        const last = JSON.stringify(request.messages.at(-1));
        if (request.messages.at(-1)?.role === 'tool' && last.includes(name)) read.add(name);
      }
      return obey(request);
    },
  });
  const env = { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' };
  locked = await startLocked({ env: { ...env, FETCH_ALLOWED_CIDRS: '127.0.0.0/8' } });
});
afterAll(async () => {
  await locked.stop();
  await model.stop();
  pages.closeAllConnections();
  pages.close();
});

describe.each(['agent', 'voice'] as const)('the %s', (name) => {
  it('goes on answering while a hostile page is parsed', { timeout: 90_000 }, async () => {
    const path = `/hostile-${name}`;
    const arrival = Promise.withResolvers<ServerResponse>();
    almostDone.set(path, arrival);
    const { port } = pages.address() as AddressInfo;
    const ended = ask(name, { url: `http://127.0.0.1:${port}${path}` });
    const response = await Promise.race([arrival.promise, ended]);
    if (typeof response === 'string') throw new Error(`The page was never asked for: ${response}`);
    const askHealth = async () =>
      expect((await fetch(`${locked.target(name).url}/healthz`)).status).toBe(200);
    // Time for the service to take in all but the end.
    for (let round = 0; round < 100; round += 1) await askHealth();
    response.end();
    let answered = 0;
    while (!read.has(path) && !over.has(name)) {
      await askHealth();
      answered += 1;
    }
    // A service that parses in its own thread answers none of them before the page is read.
    expect(answered).toBeGreaterThan(10);
    expect(await ended).toContain(path);
  });
});

async function ask(name: 'agent' | 'voice', given: object): Promise<string> {
  const text = `CALL${JSON.stringify({ name: 'fetch_url', arguments: given })}`;
  const message = { messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }] };
  const response = await fetch(`${locked.target(name).url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...keyOf(name, '/a2a') },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
  });
  const answer = await response.text();
  over.add(name);
  return answer;
}
