import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  callerGuard,
  createApp,
  createKeyring,
  type Logger,
  type RunningServer,
  StartError,
  serve,
} from '@trunkline/http';
import { mountOpenAiApi, openAiErrorBody } from '@trunkline/openai-api';
import { modelErrors } from './errors.ts';
import type { ModelProcess } from './model-process.ts';

const host = '127.0.0.1';
const bodyLimit = 32 * 1024 * 1024;
const proofMs = 3_000;
/** A door that another process holds is taken over within this time after that process ended. */
const takeOverMs = 3_000;

export interface DoorOptions {
  /** The name under which the model answers. */
  model: string;
  port: number;
  /** Every request has to show it. */
  key: string;
  process: ModelProcess;
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
 * opened it, that one is used, so that the model is in memory once; when it ends, this one takes its place.
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const app = createDoorApp(options);
  const { port, logger } = options;
  const listen = () => serve(app, { host, port, portVariable: 'LLM_GGUF_PORT', logger });
  let server: RunningServer | undefined = await listen().catch(async (error: unknown) => {
    if (isTaken(error) && (await provesKey(port, options.key))) return undefined;
    throw error;
  });
  const takeOver = async () => {
    try {
      server = await listen();
      clearInterval(timer);
      logger.info({ port }, 'took over the model file from a service that ended');
    } catch (error) {
      if (!isTaken(error)) logger.warn({ err: error }, 'failed to take over the model file');
    }
  };
  const timer = server === undefined ? setInterval(() => void takeOver(), takeOverMs).unref() : undefined;
  return {
    url: `${server?.url ?? `http://${host}:${port}`}/v1`,
    isOwn: () => server !== undefined,
    async stop() {
      clearInterval(timer);
      await server?.stop();
    },
  };
}

function createDoorApp({ model, key, process, logger }: DoorOptions) {
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
  });
  for (const path of ['/v1/*', '/props']) app.use(path, guard);
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
    errors: [modelErrors.model_loading, modelErrors.model_failed],
  });
  return app;
}

function isTaken(error: unknown): boolean {
  return error instanceof StartError && error.code === 'port_taken';
}

function proofOf(key: string, challenge: string): string {
  return createHmac('sha256', key).update(`model door ${challenge}`).digest('hex');
}

async function provesKey(port: number, key: string): Promise<boolean> {
  const challenge = randomBytes(16).toString('hex');
  try {
    const signal = AbortSignal.timeout(proofMs);
    const answer = await fetch(`http://${host}:${port}/proof/${challenge}`, { signal, redirect: 'error' });
    const given = Buffer.from(await answer.text());
    const expected = Buffer.from(proofOf(key, challenge));
    return given.length === expected.length && timingSafeEqual(given, expected);
  } catch {
    // Whatever listens there does not speak HTTP, or not in time: it is not ours.
    return false;
  }
}
