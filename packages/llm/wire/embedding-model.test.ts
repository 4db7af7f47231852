import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createModelGateway } from '../gateway.ts';

interface Reply {
  status?: number;
  body: string | object;
  /** The connection stays open behind the body. */
  open?: boolean;
}

let server: Server;
let url: string;
let replies: Reply[] = [];
const asked: Record<string, unknown>[] = [];
let closed = 0;

beforeAll(async () => {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    asked.push((await json(request)) as Record<string, unknown>);
    response.once('close', () => (closed += 1));
    const { status = 200, body, open } = replies.shift() ?? { status: 500, body: 'no reply left' };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.write(typeof body === 'string' ? body : JSON.stringify(body));
    if (!open) response.end();
  };
  server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await waitFor(() => server.listening);
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1?version=7`;
});
beforeEach(() => {
  asked.length = 0;
  closed = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function embedder(...given: Reply[]) {
  replies = given;
  const { embed } = createModelGateway({ url, apiKey: 'sesame-open', embeddingModel: 'e5', maxRetries: 0 });
  return embed!;
}

const vector = (value: number, index?: number) => ({ object: 'embedding', embedding: [value], index });

it('puts vectors in the order of their indices, or as they come where there are none', async () => {
  const embed = embedder(
    { body: { data: [vector(2, 1), vector(1, 0)], usage: { prompt_tokens: 4 } } },
    { body: { data: [vector(1), vector(2)], usage: null } },
  );
  expect(await embed(['a', 'b'])).toEqual([[1], [2]]);
  expect(await embed(['a', 'b'])).toEqual([[1], [2]]);
  expect(asked[0]).toEqual({ model: 'e5', input: ['a', 'b'], encoding_format: 'float' });
});

it('leaves encoding_format out once an endpoint refuses it', async () => {
  const refused = { detail: [{ loc: ['body', 'encoding_format'], msg: 'Extra inputs are not permitted' }] };
  const one = { body: { data: [vector(1, 0)] } };
  const embed = embedder({ status: 422, body: refused }, one, one);
  expect([await embed(['a']), await embed(['a'])]).toEqual([[[1]], [[1]]]);
  expect(asked.map((body) => 'encoding_format' in body)).toEqual([true, false, false]);
});

it.each([
  ['a flat error', { status: 400, body: { object: 'error', message: 'input is empty' } }, /input is empty/],
  ['an error with status 200', { body: { error: { message: 'GPU on fire', code: 500 } } }, /GPU on fire/],
  ['a missing vector', { body: { data: [vector(1, 1)] } }, /a vector is missing/],
  ['two vectors for one text', { body: { data: [vector(1, 0), vector(1, 1)] } }, /a vector is missing/],
  ['no vectors', { body: { choices: [] } }, /data\[\]\.embedding/],
  ['a web page', { body: '<html><title>Log in</title></html>' }, /web page came instead: "Log in"/],
  ['a body that is cut off', { body: '{"data": [' }, /no JSON/],
  ['a refused key', { status: 401, body: 'wrong key sesame-open' }, /key/],
])('says in words what %s means, without the key', async (_, reply, words) => {
  const error = await embedder(reply)(['a']).catch((thrown: Error) => thrown);
  expect((error as Error).message).toMatch(words);
  expect((error as Error).message).not.toContain('sesame-open');
});

it('drops the connection when the caller leaves while the vectors come', async () => {
  const leaving = new AbortController();
  const vectors = embedder({ body: '{"data": [', open: true })(['a'], leaving.signal);
  await waitFor(() => asked.length === 1);
  leaving.abort();
  await expect(vectors).rejects.toMatchObject({ code: 'aborted' });
  await waitFor(() => closed === 1);
});
