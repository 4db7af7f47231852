import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface QdrantPoint {
  id: string | number;
  vector: number[];
  payload: Record<string, unknown>;
}

interface Collection {
  size: number;
  points: Map<string | number, QdrantPoint>;
}

export interface FakeQdrant {
  url: string;
  /** `PUT /collections/x` and so on, in order. */
  requests: string[];
  collections: Map<string, Collection>;
  /** While set, every request is answered with this status. */
  failing: number | undefined;
  stop(): Promise<void>;
}

/** A vector store on a real socket: as much of Qdrant's REST API as collections, upserts and queries by cosine need. */
export async function startFakeQdrant({ apiKey }: { apiKey?: string } = {}): Promise<FakeQdrant> {
  const collections = new Map<string, Collection>();
  const requests: string[] = [];
  const fake = { url: '', requests, collections, failing: undefined, stop } as FakeQdrant;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (fake.failing !== undefined)
      return send(response, fake.failing, { status: { error: 'told to fail' } });
    if (apiKey !== undefined && request.headers['api-key'] !== apiKey)
      return send(response, 403, { status: { error: 'forbidden' } });
    void readJson(request).then((body) => answer(request, response, body, collections));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  async function stop() {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
  return fake;
}

type Body = Record<string, unknown>;

async function readJson(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? {} : (JSON.parse(text) as Body);
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  body: Body,
  collections: Map<string, Collection>,
): void {
  const [, , name = '', ...rest] = new URL(request.url ?? '/', 'http://localhost').pathname.split('/');
  const collection = collections.get(name);
  const action = `${request.method} ${rest.join('/')}`;
  if (action === 'PUT ') {
    const { size } = body.vectors as { size: number };
    collections.set(name, { size, points: new Map() });
    send(response, 200, { result: true, status: 'ok' });
  } else if (collection === undefined) send(response, 404, { status: { error: `no collection ${name}` } });
  else if (action === 'GET ') {
    const config = { params: { vectors: { size: collection.size, distance: 'Cosine' } } };
    send(response, 200, { result: { config, points_count: collection.points.size }, status: 'ok' });
  } else if (action === 'PUT points') upsert(response, body.points as QdrantPoint[], collection);
  else if (action === 'POST points/delete') remove(response, body, collection);
  else if (action === 'POST points/query') query(response, body, collection);
  else send(response, 404, { status: { error: `no ${action}` } });
}

function upsert(response: ServerResponse, points: QdrantPoint[], { size, points: known }: Collection): void {
  if (points.some(({ vector }) => vector.length !== size)) {
    send(response, 400, { status: { error: `Wrong input: Vector dimension error: expected dim: ${size}` } });
    return;
  }
  for (const point of points) known.set(point.id, point);
  send(response, 200, { result: { operation_id: 1, status: 'completed' }, status: 'ok' });
}

interface Condition {
  key: string;
  match?: { value: unknown };
  range?: { gte: number };
}

function remove(response: ServerResponse, body: Body, { points }: Collection): void {
  const { must } = body.filter as { must: Condition[] };
  const fits = ({ payload }: QdrantPoint) =>
    must.every(({ key, match, range }) =>
      match === undefined ? Number(payload[key]) >= (range?.gte ?? 0) : payload[key] === match.value,
    );
  for (const point of points.values()) if (fits(point)) points.delete(point.id);
  send(response, 200, { result: { operation_id: 2, status: 'completed' }, status: 'ok' });
}

interface QueryBody {
  query: number[];
  limit?: number;
  filter?: { should: { key?: string; match?: { any: unknown[] }; is_empty?: { key: string } }[] };
}

function query(response: ServerResponse, body: Body, { points }: Collection): void {
  const { query: wanted, limit = 10, filter } = body as unknown as QueryBody;
  const fits = ({ payload }: QdrantPoint) =>
    filter === undefined ||
    filter.should.some(({ key = '', match, is_empty }) =>
      is_empty === undefined ? match?.any.includes(payload[key]) : payload[is_empty.key] === undefined,
    );
  const found = [...points.values()]
    .filter(fits)
    .map(({ id, vector, payload }) => ({ id, score: cosine(wanted, vector), payload }))
    .sort((left, right) => right.score - left.score)
    .slice(0, limit);
  send(response, 200, { result: { points: found }, status: 'ok' });
}

function cosine(left: number[], right: number[]): number {
  const dot = left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  return dot / (Math.hypot(...left) * Math.hypot(...right) || 1);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
