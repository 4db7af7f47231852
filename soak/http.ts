import { readSse } from '@trunkline/http';

export interface Answer<Body> {
  isGood: boolean;
  status: number;
  body: Body;
}

const timeoutMs = 30_000;

/** Calls a route with JSON, whose answer the caller knows the shape of; a connection that is refused or cut throws. */
export async function call<Body>(url: string, body?: unknown, method = 'POST'): Promise<Answer<Body>> {
  const signal = AbortSignal.timeout(timeoutMs);
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? { signal } : { method, headers, body: JSON.stringify(body), signal };
  const response = await fetch(url, init);
  return { isGood: response.ok, status: response.status, body: (await response.json()) as Body };
}

/** A task on the 0.3 wire, as far as the loads look at it. */
export interface WireTask {
  kind: string;
  id: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
  artifacts?: { parts: { text?: string }[] }[];
}

/** A call of A2A in its 0.3 dialect; undefined when it was refused. */
export async function rpc(url: string, method: string, params: unknown): Promise<WireTask | undefined> {
  const request = { jsonrpc: '2.0', id: 1, method, params };
  const { isGood, body } = await call<{ result?: WireTask }>(`${url}/a2a`, request);
  return isGood ? body.result : undefined;
}

export function textMessage(text: string, more: object = {}) {
  return { role: 'user', messageId: `${text}-message`, parts: [{ kind: 'text', text }], ...more };
}

export interface Follow {
  url: string;
  body?: unknown;
  lastEventId?: string | undefined;
  /** Ends the reading. */
  signal: AbortSignal;
}

/** The events of a stream, until it ends or its connection is lost. */
export async function* follow({ url, body, lastEventId, signal }: Follow) {
  const headers = {
    'content-type': 'application/json',
    ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
  };
  const init =
    body === undefined
      ? { headers, signal }
      : { method: 'POST', headers, body: JSON.stringify(body), signal };
  const response = await fetch(url, init);
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  for await (const event of readSse(response.body as ReadableStream<Uint8Array>))
    if (event.data !== '') yield { id: event.id, data: JSON.parse(event.data) };
}
