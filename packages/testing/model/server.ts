import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { embeddingBody } from './completion.ts';
import { deliver, errorBody, sendJson } from './delivery.ts';
import { type ChatRequestBody, createReplySource, type ModelScript, type ScriptedReply } from './reply.ts';

export interface ModelServerOptions {
  script?: ModelScript;
  /** Any free one when not given. */
  port?: number;
  /** When given, requests without this bearer key are refused with 401. */
  apiKey?: string;
  /** Names listed at `/v1/models`. */
  models?: string[];
  /** Who serves them, as the list says it: `vllm`, `library` (Ollama) and others. */
  ownedBy?: string;
  /** Tokens that the models take, as vLLM lists them; without it nothing says so. */
  contextTokens?: number;
  /** How long it takes to list them, as one that loads a model does. */
  listsAfterMs?: number;
}

export interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON body; undefined when there was none. */
  body: unknown;
  /** Set when the client went away before its answer was complete. */
  abandoned: boolean;
}

export interface ModelServer {
  /** Base address for OpenAI-style clients, `/v1` included. */
  url: string;
  /** Without those that ask about the models, which turns do in the background. */
  requests: RecordedRequest[];
  /** Bodies of the chat requests alone, in order. */
  chats(): ChatRequestBody[];
  enqueue(...replies: ScriptedReply[]): void;
  /** Drops the queued replies that nobody asked for. */
  forget(): void;
  /** Lets every stalled reply go on. */
  release(): void;
  stop(): Promise<void>;
}

/** A fake OpenAI-compatible endpoint on a real socket, scripted by the test. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const source = createReplySource(options.script ?? []);
  const gate = createGate();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(asError(error)));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await record(request, response, requests);
    if (!holdsKey(request, options.apiKey))
      return sendJson(response, 401, errorBody('Incorrect API key provided', 401));
    const route = `${recorded.method} ${recorded.path}`;
    if (route === 'GET /v1/models') {
      if (options.listsAfterMs !== undefined) await delay(options.listsAfterMs);
      return sendJson(response, 200, modelList(options));
    }
    if (route === 'POST /v1/embeddings') return sendEmbedding(response, recorded.body);
    if (route !== 'POST /v1/chat/completions')
      return sendJson(response, 404, errorBody(`No route ${route}`, 404));
    await complete(recorded.body as ChatRequestBody, response);
  }

  async function complete(request: ChatRequestBody, response: ServerResponse): Promise<void> {
    if (!Array.isArray(request?.messages))
      return sendJson(response, 400, errorBody('messages is required', 400));
    const head = {
      id: `chatcmpl-${requests.length}`,
      created: Math.floor(Date.now() / 1000),
      model: request.model,
    };
    await deliver({ head, request, response, released: gate.opened() }, await source.next(request));
  }

  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    chats: () => requests.filter(isChat).map((entry) => entry.body as ChatRequestBody),
    enqueue: (...replies) => void source.enqueue(replies),
    forget: source.forget,
    release: gate.open,
    async stop() {
      gate.open();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function record(request: IncomingMessage, response: ServerResponse, requests: RecordedRequest[]) {
  const body = await text(request);
  const recorded: RecordedRequest = {
    method: request.method ?? '',
    path: new URL(request.url ?? '/', 'http://localhost').pathname,
    headers: request.headers,
    body: body === '' ? undefined : JSON.parse(body),
    abandoned: false,
  };
  const isQuestion = recorded.method === 'GET' || recorded.path === '/api/show';
  if (!isQuestion) requests.push(recorded);
  response.on('close', () => {
    recorded.abandoned = !response.writableFinished;
  });
  return recorded;
}

/** Waiters pass when the gate is opened; those who come later wait for the next opening. */
function createGate() {
  let current = Promise.withResolvers<void>();
  return {
    opened: () => current.promise,
    open() {
      current.resolve();
      current = Promise.withResolvers<void>();
    },
  };
}

function sendEmbedding(response: ServerResponse, body: unknown): void {
  sendJson(response, 200, embeddingBody(body as Parameters<typeof embeddingBody>[0]));
}

function holdsKey(request: IncomingMessage, apiKey: string | undefined): boolean {
  return apiKey === undefined || request.headers.authorization === `Bearer ${apiKey}`;
}

function modelList({ models = ['test-model'], ownedBy = 'test', contextTokens }: ModelServerOptions) {
  const head = { object: 'model', created: 0, owned_by: ownedBy };
  return { object: 'list', data: models.map((id) => ({ id, ...head, max_model_len: contextTokens })) };
}

function isChat(entry: RecordedRequest): boolean {
  return entry.path === '/v1/chat/completions';
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
