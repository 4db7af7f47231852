import { createHmac, timingSafeEqual } from 'node:crypto';
import { anonymous, encodePrincipal, handedOn, type Principal, principalHeader } from '@trunkline/identity';
import { connectionFailure, isCutConnection, limitBody, systemCode } from '@trunkline/std';
import { principalExtension, principalMetadata } from '../protocol/principal-extension.ts';
import {
  needsNoCard,
  type OutgoingMessage,
  type RemoteAgent,
  RemoteAgentError,
  type SentMessage,
} from './remote-agent.ts';

const longestSkewSeconds = 300;

/** More of one answer is not read. */
export const longestAnswerBytes = 20 * 1024 * 1024;

/** Characters of a refusal. */
const longestRefusal = 2000;

export type Fetch = typeof fetch;

/**
 * A fetch that sends our credentials, follows no redirect with them but that to the same address with or without a slash
 * at its end, and limits the size of the answer. What may not be sent twice goes out by `fetchNonIdempotent`, but to our own
 * services, which know it again.
 */
export function createAgentFetch(
  agent: RemoteAgent,
  now: () => number,
  principal: Principal = anonymous,
  fetchNonIdempotent: Fetch = fetch,
): Fetch {
  const tooLarge = () => new RemoteAgentError('agent_unreadable', agent, 'the answer is too large');
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    const body = typeof init.body === 'string' ? init.body : '';
    for (const [name, value] of Object.entries(identityHeaders(agent, body, now(), principal)))
      headers.set(name, value);
    const request = { ...init, headers, redirect: 'manual' as const };
    const send = agent.peer === undefined && !isRead(request) ? fetchNonIdempotent : fetchWithRetry;
    let response = await reach(agent, () => send(input, request), request);
    let moved = movedTo(response, input);
    if (moved !== undefined && isSlashAlone(moved, input)) {
      await response.body?.cancel();
      const target = moved;
      response = await reach(agent, () => send(target, request), request);
      moved = movedTo(response, moved);
    }
    if (response.status === 401 || response.status === 403) {
      const cause = agent.peer === undefined ? undefined : new Error(await startOf(response));
      if (cause === undefined) await response.body?.cancel();
      const isStranger = agent.peer !== undefined && principal.kind === 'anonymous';
      const code = isStranger ? 'agent_unknown_caller' : 'agent_unauthorized';
      throw new RemoteAgentError(code, agent, '', cause && { cause });
    }
    if (response.status >= 300 && response.status < 400 && response.status !== 304) {
      await response.body?.cancel();
      const to = moved === undefined ? '' : ` to ${moved.origin}${moved.pathname}`;
      throw new RemoteAgentError('agent_error', agent, `its address has moved${to}`);
    }
    return asStream(limitBody(response, { maxBytes: longestAnswerBytes, tooLarge }), headers);
  };
}

/** Where a redirect leads. */
function movedTo({ status, headers }: Response, input: RequestInfo | URL): URL | undefined {
  const [location, from] = [headers.get('location'), addressIn(input)];
  if (status < 300 || status >= 400 || location === null || !URL.canParse(location, from)) return undefined;
  return new URL(location, from);
}

/** Many frameworks lead from the path of a mount to the one with a slash, and some back. */
function isSlashAlone(to: URL, input: RequestInfo | URL): boolean {
  const from = new URL(addressIn(input));
  const isSame = to.origin === from.origin && to.search === from.search && to.pathname !== from.pathname;
  return isSame && withoutSlash(to.pathname) === withoutSlash(from.pathname);
}

const addressIn = (input: RequestInfo | URL) => String(input instanceof Request ? input.url : input);

/**
 * Asks at `standIn` where nothing takes a connection at the interface that the card names: nothing was sent there.
 * What REST adds to the address stays.
 */
export function withStandIn(send: Fetch, named: string, standIn: string): Fetch {
  const base = withoutSlash(named);
  return async (input, init) => {
    try {
      return await send(input, init);
    } catch (error) {
      const url = addressIn(input);
      if (!isUnconnected(error) || !url.startsWith(base)) throw error;
      const rest = url === named ? '' : url.slice(base.length);
      return await send(rest === '' ? standIn : withoutSlash(standIn) + rest, init);
    }
  };
}

/**
 * Asks at these places in order until somebody is there, who is asked first from then on. For JSON-RPC alone: with REST a
 * status may be an answer. Where nobody is, the reason may be that the host which the card names (`unbelieved`) is not asked.
 */
export function withPlaces(
  send: Fetch,
  places: string[],
  { agent, unbelieved }: { agent: RemoteAgent; unbelieved: string | undefined },
): Fetch {
  return async (input, init) => {
    let refused: Response | undefined;
    for (const place of [...places]) {
      const response = await send(place, init);
      const text = nobodyThere.has(response.status) ? await response.text() : undefined;
      if (text === undefined || text.includes('"jsonrpc"')) {
        places.splice(places.indexOf(place), 1);
        places.unshift(place);
        return text === undefined ? response : new Response(text, response);
      }
      refused ??= new Response(text, response);
    }
    if (refused !== undefined && unbelieved !== undefined)
      throw new RemoteAgentError('agent_elsewhere', agent, unbelieved);
    return refused ?? (await send(input, init));
  };
}

/** For REST: where there is no route for a stream, whatever the card says, the agent knows none. */
export function refusingStreams(send: Fetch): Fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!asksForStream(new Headers(init?.headers)) || !noRoute.has(response.status)) return response;
    await response.body?.cancel();
    throw new NoStreamsError(`HTTP status ${response.status}`);
  };
}

export class NoStreamsError extends Error {}

/** Not found, method not allowed, not implemented. */
const noRoute = new Set([404, 405, 501]);

const asksForStream = (headers: Headers) => headers.get('accept')?.includes('text/event-stream') ?? false;

/** Not found, method not allowed. */
const nobodyThere = new Set([404, 405]);

const withoutSlash = (url: string) => url.replace(/\/+$/, '');

const unconnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function isUnconnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return unconnected.has(systemCode(error) ?? '') || isUnconnected(error.cause);
}

/** What one of our services says of its refusal, for the log: it may be the clocks, and no key. */
async function startOf(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (reader !== undefined && text.length < longestRefusal) {
    const { done, value = '' } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader?.cancel();
  return text.slice(0, longestRefusal);
}

/** An agent that answers a request for a stream with one document has done the work: the document is the only event. */
function asStream(response: Response, asked: Headers): Response {
  // Some servers do not say what they send.
  const isDocument = /^$|[/+]json/.test(response.headers.get('content-type') ?? '');
  if (!response.ok || !isDocument || !asksForStream(asked)) return response;
  const lines = new TransformStream<string, string>({
    start: (controller) => controller.enqueue('data: '),
    transform: (text, controller) => controller.enqueue(text.replace(/[\r\n]+/g, ' ')),
    flush: (controller) => controller.enqueue('\n\n'),
  });
  const body = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream());
  return new Response(body ?? null, { headers: { 'content-type': 'text/event-stream' } });
}

/** Who we are: the agent's own headers, its credentials, and of our services on whose behalf they ask. */
export function identityHeaders(
  agent: RemoteAgent,
  body: string,
  now: number,
  principal: Principal,
): Record<string, string> {
  const { apiKey, bearer, hmacSecret } = agent.credentials ?? {};
  return {
    ...agent.headers,
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    ...(hmacSecret !== undefined && signBody(hmacSecret, body, now)),
    ...(agent.peer !== undefined && {
      authorization: `Bearer ${agent.peer.token}`,
      [principalHeader]: encodePrincipal(handedOn(principal, agent.peer.name)),
      'a2a-extensions': principalExtension,
      'x-a2a-extensions': principalExtension,
    }),
  };
}

/** The message with its ids; for one of our services with on whose behalf it is sent, too, as headers may get lost. */
export function signMessage(
  agent: RemoteAgent,
  message: OutgoingMessage,
  principal: Principal,
  now: number,
): SentMessage {
  const { taskId, text, parts = [], metadata = {}, extensions = [] } = message;
  // An answer to a task may leave its context out; a new conversation gets one from the contracts' own client.
  const isNew = message.contextId === undefined && taskId === undefined && needsNoCard(agent);
  const ids = {
    messageId: message.messageId ?? crypto.randomUUID(),
    ...(isNew && { contextId: crypto.randomUUID() }),
  };
  const sent = { ...message, ...ids };
  if (agent.peer === undefined) return sent;
  const content = { ...sent, parts: [{ type: 'text' as const, text }, ...parts] };
  const asked = handedOn(principal, agent.peer.name);
  return {
    ...sent,
    ownMetadata: principalMetadata(asked, content, metadata, { peer: agent.peer, now }),
    extensions: [...extensions, principalExtension],
  };
}

async function reach(
  agent: RemoteAgent,
  send: () => Promise<Response>,
  { signal }: RequestInit,
): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    signal?.throwIfAborted();
    throw unreachable(agent, error);
  }
}

/** `otherwise` is the reason where the failure itself names none. */
export function unreachable(agent: RemoteAgent, cause: unknown, otherwise = ''): RemoteAgentError {
  const code = cause instanceof Error ? systemCode(cause.cause) : undefined;
  const reason = code === undefined ? otherwise : connectionFailure(code);
  return new RemoteAgentError('agent_unreachable', agent, reason, { cause });
}

const fetchWithRetry: Fetch = (input, init = {}) =>
  fetch(input, init).catch((error: unknown) => {
    if (!isCutConnection(error) || !isRead(init)) throw error;
    return fetch(input, init);
  });

/** What changes nothing at the agent may be asked twice. A message needs a new signature, see `isRepeatable`. */
function isRead({ method = 'GET', body }: RequestInit): boolean {
  if (method !== 'POST') return method === 'GET';
  return typeof body === 'string' && readCalls.has(methodOf(body));
}

/** The method of the call itself: a message may hold a call of its own. With REST there is none. */
function methodOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { method?: unknown } | null)?.method;
  } catch {
    return undefined;
  }
}

/** Whether a message whose connection was cut may go again: one of our services knows it by its idempotency key. */
export function isRepeatable(
  { peer }: RemoteAgent,
  { messageId, metadata }: OutgoingMessage,
  error: unknown,
): boolean {
  const isKnownAgain =
    peer !== undefined && messageId !== undefined && metadata?.idempotencyKey === messageId;
  return isKnownAgain && isCut(error);
}

/** The client of the SDK has errors of its own around those of fetch. */
function isCut(error: unknown): boolean {
  return isCutConnection(error) || (error instanceof Error && isCut(error.cause));
}

const readCalls = new Set<unknown>([
  ...['tasks/get', 'tasks/list', 'tasks/resubscribe'],
  ...['GetTask', 'ListTasks', 'SubscribeToTask'],
]);

/** The headers that prove who sent a body and when. */
export function signBody(secret: string, body: string, now: number) {
  const timestamp = String(Math.floor(now / 1000));
  return { 'x-timestamp': timestamp, 'x-signature-256': signatureOf(secret, timestamp, body) };
}

/** For receivers: whether the signature fits the body and is not too old or from the future. */
export function isSigned(
  secret: string,
  body: string,
  headers: { timestamp: string | undefined; signature: string | undefined },
  now: number,
): boolean {
  const { timestamp = '', signature = '' } = headers;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > longestSkewSeconds) return false;
  return sameText(signature, signatureOf(secret, timestamp, body));
}

function signatureOf(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

/** Takes the same time wherever the texts differ. */
function sameText(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
