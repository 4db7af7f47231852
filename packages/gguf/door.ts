import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  callerGuard,
  createApp,
  createKeyring,
  type Logger,
  type RunningServer,
  StartError,
  serve,
} from '@trunkline/http';
import { type ModelParameter, mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import { type ModelProcess, modelErrors } from './model-process.ts';

const host = '127.0.0.1';
const bodyLimit = 32 * 1024 * 1024;
/** A door that another process holds is taken over within this time after that process ended. */
const takeOverMs = 3_000;
/** What the engine heeds; others are refused by name. */
const parameters: readonly ModelParameter[] = [
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'frequency_penalty',
  'presence_penalty',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
];

export interface DoorOptions {
  /** The name under which the model answers. */
  model: string;
  port: number;
  /** Every request has to show it. */
  key: string;
  process: Pick<ModelProcess, 'ask' | 'load' | 'ready' | 'facts' | 'state'>;
  logger: Logger;
}

export interface Door {
  /** Base address of the OpenAI-compatible API. */
  url: string;
  /** Whether the model runs in a child of this process, not in that of another service. */
  isOwn(): boolean;
  stop(): Promise<void>;
}

/**
 * Opens the address at which the services of this machine reach the model. Where another service of the same home has
 * opened it, requests are passed on to that one, so that the model is in memory once; when it ends, this one takes its
 * place. When a stranger does, this one runs the model at an address of its own, which it has had from the start.
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { port, key, logger } = options;
  const other = { host, port, key };
  let shared: RunningServer | undefined;
  let isStopped = false;
  let isStranger = false;
  const passOn = async (request: Request) => {
    if (shared !== undefined) return undefined;
    const answer = await relay(request, other).catch((error: unknown) => {
      logger.warn({ err: error }, 'service that runs the model file ended');
      throw modelErrors.model_loading({ percent: 0 }, { headers: { 'retry-after': '1' } });
    });
    if (answer === undefined) await takeOver();
    return answer;
  };
  const app = createDoorApp(options, passOn);
  const listen = (at: number) => serve(app, { host, port: at, portVariable: 'LLM_GGUF_PORT', logger });
  const takeOver = async () => {
    try {
      const server = await listen(port);
      if (isStopped) return await server.stop();
      shared = server;
      clearInterval(timer);
      logger.info({ port }, 'took over the model file from a service that ended');
    } catch (error) {
      if (!isTaken(error)) logger.warn({ err: error }, 'failed to take over the model file');
      else await watchStranger();
    }
  };
  const watchStranger = async () => {
    const wasStranger = isStranger;
    isStranger = !(await provesKey(other));
    if (isStranger && !wasStranger)
      logger.error({ port }, 'another program took the port of the model file (LLM_GGUF_PORT)');
  };
  shared = await listen(port).catch(async (error: unknown) => {
    if (isTaken(error) && (await provesKey(other))) return undefined;
    throw error;
  });
  const own = shared ?? (await listen(0));
  const timer = shared === undefined ? setInterval(() => void takeOver(), takeOverMs).unref() : undefined;
  return {
    url: `${own.url}/v1`,
    isOwn: () => shared !== undefined,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await Promise.all([own.stop(), shared?.stop()]);
    },
  };
}

function createDoorApp(
  { model, key, process, logger }: DoorOptions,
  passOn: (request: Request) => Promise<Response | undefined>,
) {
  const guard = callerGuard({ keyring: createKeyring([{ key, caller: { id: 'service' } }]) });
  const app = createApp<{ id: string }>({
    service: 'model',
    version: '1',
    description: 'The model of a GGUF file, for the services of this machine.',
    logger,
    renderError: (error) => ({ body: openAiErrorBody(error) }),
    health: () => ({ status: 200, body: { ok: true, model, state: process.state } }),
    bodyLimit,
    guard,
    // Trunkline made the key: strangers who guess must not lock the services out of their own model.
    limits: { isGuessable: false },
  });
  for (const path of ['/v1/*', '/props']) {
    app.use(path, guard);
    app.use(path, async (context, next) => (await passOn(context.req.raw)) ?? (await next()));
  }
  // A service that uses the model looks at the list when it starts: loading begins then. Later looks load nothing, as
  // an idle model stays unloaded until somebody asks it.
  let isWanted = false;
  app.use('/v1/models', async (_, next) => {
    if (!isWanted) process.load();
    isWanted = true;
    await next();
  });
  // Shows a service of the same home that this is no stranger on the port, before it sends its key and conversations.
  app.get('/proof/:challenge', (context) => context.text(proofOf(key, context.req.param('challenge'))));
  // As llama.cpp's server describes itself: clients read the size of the window there.
  app.get('/props', async (context) => {
    if (process.facts === undefined) await process.ready();
    const { contextTokens, sequences } = process.facts ?? {};
    if (contextTokens === undefined) throw modelErrors.model_loading({ percent: 0 });
    return context.json({
      default_generation_settings: { n_ctx: contextTokens },
      total_slots: sequences,
      model_alias: model,
    });
  });
  mountOpenAiApi(app, {
    ownedBy: 'gguf',
    models: () => [model],
    // As llama.cpp's server does: there is one model, whatever the caller calls it.
    findModel:
      () =>
      ({ request, signal }) =>
        process.ask(request, signal),
    defaultModel: () => model,
    images: false,
    parameters: () => parameters,
    errors: [modelErrors.model_loading, modelErrors.model_failed],
  });
  return app;
}

function isTaken(error: unknown): boolean {
  return error instanceof StartError && error.code === 'port_taken';
}

const proofMs = 3_000;
/** Headers of one connection only. */
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding'];

interface OtherDoor {
  host: string;
  port: number;
  key: string;
}

/** What a door says to show that it knows the key, without telling it. */
export function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', key).update(`model door ${challenge}`).digest('hex');
}

/** Whether whoever listens there knows the key. */
async function provesKey(door: OtherDoor): Promise<boolean> {
  const agent = new Agent({ keepAlive: false });
  return (await provenSocket(agent, door)) !== undefined;
}

/**
 * Passes a request on to the door of another service. It goes over the connection at whose end the key was proven, so
 * that whoever takes the port in the meantime gets neither the key nor the words. Undefined, with the body unread, when
 * nobody there knows the key.
 */
async function relay(given: Request, door: OtherDoor): Promise<Response | undefined> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const socket = await provenSocket(agent, door);
    if (socket === undefined) {
      agent.destroy();
      return undefined;
    }
    const type = given.headers.get('content-type');
    const options = {
      method: given.method,
      path: new URL(given.url).pathname,
      headers: { authorization: `Bearer ${door.key}`, ...(type !== null && { 'content-type': type }) },
      signal: given.signal,
    };
    const body = Buffer.from(await given.arrayBuffer());
    const answer = await send(agent, door, { ...options, body, socket });
    answer.once('close', () => agent.destroy());
    return toResponse(answer);
  } catch (error) {
    agent.destroy();
    throw error;
  }
}

async function provenSocket(agent: Agent, door: OtherDoor): Promise<Socket | undefined> {
  const challenge = randomBytes(16).toString('hex');
  try {
    const signal = AbortSignal.timeout(proofMs);
    const answer = await send(agent, door, { path: `/proof/${challenge}`, signal });
    const { socket } = answer;
    const said = Buffer.from(await text(answer));
    const expected = Buffer.from(proofOf(door.key, challenge));
    return said.length === expected.length && timingSafeEqual(said, expected) ? socket : undefined;
  } catch {
    // Nobody listens there, or whoever does speaks no HTTP, or not in time: it is not ours.
    return undefined;
  }
}

interface Sending extends RequestOptions {
  body?: Buffer;
  /** The only connection over which it may go. */
  socket?: Socket;
}

async function send(
  agent: Agent,
  { host, port }: OtherDoor,
  { body, socket, ...options }: Sending,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({ agent, host, port, ...options }, resolve);
  sent.on('error', reject);
  // Nothing is written before the end of the request is known.
  sent.once('socket', (used) => {
    if (socket !== undefined && used !== socket) sent.destroy(new Error('the connection was closed'));
    else sent.end(body);
  });
  return await promise;
}

function toResponse(answer: IncomingMessage): Response {
  const headers = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    ofConnection.includes(name) ? [] : [value ?? []].flat().map((each) => [name, each]),
  );
  const body = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
  return new Response(body, { status: answer.statusCode ?? 502, headers });
}
