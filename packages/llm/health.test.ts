import { createServer, type Server } from 'node:http';
import { freePort, type ModelServer, startModelServer, waitFor } from '@trunkline/testing';
import { afterEach, expect, it } from 'vitest';
import { prompt } from './gateway.suite.ts';
import { createModelGateway } from './gateway.ts';
import type { ModelGatewayOptions } from './gateway-options.ts';

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(options: Parameters<typeof startModelServer>[0] = {}): Promise<ModelServer> {
  const server = await startModelServer({ models: ['small'], ...options });
  servers.push(server);
  return server;
}

const ask = (options: ModelGatewayOptions) =>
  createModelGateway({ maxRetries: 0, ...options })
    .languageModel()
    .doGenerate({ prompt });

it('names an address where nothing listens, and clears itself when the model is back', async () => {
  const port = await freePort();
  const gateway = createModelGateway({ url: `http://127.0.0.1:${port}/v1`, model: 'small' });
  expect(await gateway.problem()).toEqual({
    code: 'unreachable',
    message: `Cannot reach the model at http://127.0.0.1:${port}/v1: connection refused. Check LLM_GATEWAY_URL.`,
  });
  await start({ port });
  await waitFor(async () => (await gateway.problem()) === undefined);
});

it('names a refused key, which it does not show, and a model that is not there', async () => {
  const { url } = await start({ apiKey: 'right-key-value' });
  const refused = await createModelGateway({ url, apiKey: 'wrong-key-value', model: 'small' }).problem();
  expect(refused?.message).toBe(`The model at ${url} refuses the key. Check LLM_API_KEY.`);
  const named = { url, apiKey: 'right-key-value', model: 'huge' };
  expect((await createModelGateway(named).problem())?.message).toBe(
    `LLM_MODEL is "huge", but ${url} offers small.`,
  );
  expect(await createModelGateway({ ...named, model: 'small' }).problem()).toBeUndefined();
});

it('names the file for an endpoint of a role', async () => {
  const { url } = await start();
  const gone = `http://127.0.0.1:${await freePort()}/v1`;
  const roles = (role: string) => (role === 'judge' ? { model: 'x', url: gone } : undefined);
  expect((await createModelGateway({ url, model: 'small', roles }).problem())?.message).toBe(
    `Cannot reach the model at ${gone}: connection refused. Check Setup, Model (/setup/model; models.yaml).`,
  );
});

it('names the page in failed calls to a model that was set there', async () => {
  const { url, enqueue } = await start();
  enqueue({ fault: 'status', status: 401 });
  await expect(ask({ url, model: 'small', file: 'models.yaml' })).rejects.toThrow(
    'Set the key in Setup, Model (/setup/model) to one that is valid there.',
  );
});

it('takes a name that answers for usable though it is not listed, and one that Ollama lists with its tag', async () => {
  const { url } = await start({ script: () => 'Hi', models: ['small', 'phi:latest'] });
  await ask({ url, model: 'alias' });
  expect(await createModelGateway({ url, model: 'alias' }).problem()).toBeUndefined();
  expect(await createModelGateway({ url, model: 'phi' }).problem()).toBeUndefined();
});

it('believes a call that is refused where the list is open to all, until one succeeds', async () => {
  const { url, enqueue } = await start();
  const settings = { url, apiKey: 'a-key-value', model: 'small' };
  enqueue({ fault: 'status', status: 401 }, 'Hi');
  await expect(ask(settings)).rejects.toMatchObject({ code: 'refused-key' });
  const gateway = createModelGateway(settings);
  expect((await gateway.problem())?.code).toBe('refused-key');
  await ask(settings);
  expect(await gateway.problem()).toBeUndefined();
});

it('says nothing of an endpoint without a list, and never calls a model unasked', async () => {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const gateway = createModelGateway({ url: `http://127.0.0.1:${port}/v1`, model: 'any' });
  expect(await gateway.problem()).toBeUndefined();
  expect(asked).toEqual(['GET /v1/models']);
  server.closeAllConnections();
  server.close();
});
