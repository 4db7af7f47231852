import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type CompletionHead, completionBody, completionChunks, openingChunks } from './completion.ts';
import type { ChatRequestBody, ScriptedAnswer, ScriptedFault } from './reply.ts';

export interface Delivery {
  head: CompletionHead;
  request: ChatRequestBody;
  response: ServerResponse;
  /** Resolves when the test releases what is stalled. */
  released: Promise<void>;
}

/** Sends one scripted reply, sound or faulty, the way a real endpoint would. */
export async function deliver(delivery: Delivery, reply: ScriptedAnswer | ScriptedFault): Promise<void> {
  if (reply.fault === undefined) return await deliverAnswer(delivery, reply);
  if (reply.fault === 'status') return sendStatus(delivery.response, reply);
  if (reply.fault === 'stall') return await deliverAfterRelease(delivery, reply);
  return delivery.request.stream ? breakStream(delivery, reply) : breakBody(delivery, reply);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function errorBody(message: string, status: number) {
  return {
    error: {
      message,
      type: status === 401 ? 'authentication_error' : 'server_error',
      param: null,
      code: null,
    },
  };
}

async function deliverAnswer(delivery: Delivery, answer: ScriptedAnswer): Promise<void> {
  const { head, request, response } = delivery;
  if (!request.stream) return sendJson(response, 200, completionBody(head, request, answer));
  if (answer.afterMs !== undefined) await delay(answer.afterMs);
  openStream(response);
  for (const chunk of completionChunks(head, request, answer)) {
    if (answer.dripMs !== undefined) await delay(answer.dripMs);
    if (response.destroyed) return;
    writeChunk(response, chunk);
  }
  response.end('data: [DONE]\n\n');
}

function sendStatus(response: ServerResponse, reply: Extract<ScriptedFault, { fault: 'status' }>): void {
  const headers: Record<string, string> =
    reply.retryAfter === undefined ? {} : { 'retry-after': reply.retryAfter };
  sendJson(
    response,
    reply.status,
    errorBody(reply.message ?? `Scripted status ${reply.status}`, reply.status),
    headers,
  );
}

async function deliverAfterRelease(
  delivery: Delivery,
  reply: Extract<ScriptedFault, { fault: 'stall' }>,
): Promise<void> {
  const { request, response } = delivery;
  if (request.stream && reply.text !== undefined) {
    openStream(response);
    for (const chunk of openingChunks(delivery.head, reply.text)) writeChunk(response, chunk);
  }
  await delivery.released;
  if (response.destroyed) return;
  await deliverAnswer(delivery, { text: reply.answer ?? '' });
}

type BrokenReply = Exclude<ScriptedFault, { fault: 'status' | 'stall' }>;

function breakStream({ head, response }: Delivery, reply: BrokenReply): void {
  openStream(response);
  for (const chunk of openingChunks(head, reply.text ?? '')) writeChunk(response, chunk);
  if (reply.fault === 'cut') destroyAfter(response, 'data: {"id":"half a chu');
  else response.end(lastWords(reply));
}

function lastWords(reply: BrokenReply): string {
  if (reply.fault === 'unfinished') return '';
  const chunk =
    reply.fault === 'error-chunk' ? JSON.stringify(errorBody(failureOf(reply), 500)) : '{"choices": [oops';
  return `data: ${chunk}\n\ndata: [DONE]\n\n`;
}

function breakBody({ head, request, response }: Delivery, reply: BrokenReply): void {
  const body = JSON.stringify(completionBody(head, request, { text: reply.text ?? '' }));
  const half = body.slice(0, body.length / 2);
  if (reply.fault === 'error-chunk') sendJson(response, 500, errorBody(failureOf(reply), 500));
  else if (reply.fault === 'malformed')
    response.writeHead(200, { 'content-type': 'application/json' }).end(half);
  else destroyAfter(response.writeHead(200, { 'content-length': Buffer.byteLength(body) }), half);
}

function failureOf(reply: Extract<ScriptedFault, { fault: 'error-chunk' }>): string {
  return reply.message ?? 'Scripted failure';
}

function openStream(response: ServerResponse): void {
  if (response.headersSent) return;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
}

function writeChunk(response: ServerResponse, chunk: unknown): void {
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

/** Kills the socket once the last bytes have left it, so that the client sees them and then a reset. */
function destroyAfter(response: ServerResponse, text: string): void {
  response.write(text, () => response.destroy());
}
