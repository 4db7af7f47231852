import type { LanguageModelV4 } from '@ai-sdk/provider';
import { BoundedMap, limitBody } from '@trunkline/std';
import { z } from 'zod';
import { endpointKind } from './profiles/endpoint-kind.ts';
import { learn, learnedOf, type ModelOrigin, originOf, profileAt } from './profiles/profile.ts';

/** What the first step of a turn waits for the endpoint to say; what comes later counts from the next step on. */
const firstWaitMs = 300;
const requestLimitMs = 3000;
const longestAnswer = 16 * 1024 * 1024;
/** An endpoint that said nothing is asked again after this time. */
const askAgainMs = 600_000;
/** One that is busy, loading a model or not there, is asked again sooner. */
const busyAgainMs = 10_000;
/** What Ollama and LM Studio load a model with when nobody says otherwise. */
const defaultLoadedTokens = 4096;
const smallestWindow = 256;
const mostWindows = 500;

/** Models of other versions of the SDK's interface come from tests alone and have no window. */
type AnyModel = Pick<LanguageModelV4, 'modelId'>;

interface Window {
  /** What the endpoint said. */
  tokens?: number | undefined;
  asking?: Promise<void> | undefined;
  askAgainAt: number;
}

/** By endpoint and model, for all gateways of the process. */
const windows = new BoundedMap<string, Window>(mostWindows);

/**
 * How many tokens a model takes, prompt and answer together: as configured, else as the endpoint says where it says so
 * for free, else by the table of profiles; never more than an overflow error has named, unless it is configured. The
 * endpoint is asked in the background; only the first caller waits for it, for a moment, and one who gives `waitMs`,
 * so long where nothing is known yet.
 */
export async function contextWindowOf(
  model: AnyModel,
  signal?: AbortSignal,
  waitMs?: number,
): Promise<number | undefined> {
  const origin = originOf(model as LanguageModelV4);
  if (origin === undefined) return undefined;
  const { contextTokens: configured } = origin.configured();
  if (configured !== undefined) return configured;
  const served = await servedWindow(origin, signal, waitMs);
  const { contextTokens: learned = Number.POSITIVE_INFINITY } = learnedOf(origin);
  return served === undefined ? profileAt(origin).contextTokens : Math.min(served, learned);
}

/**
 * The window that an endpoint is known to cut prompts to without a word, as Ollama does and LM Studio by some of its
 * settings; undefined for other endpoints, and where only the table of profiles names a size.
 */
export function silentCutWindow(origin: ModelOrigin): number | undefined {
  if (!['ollama', 'lmstudio'].includes(endpointKind(origin.endpoint.baseUrl))) return undefined;
  const served = origin.configured().contextTokens ?? windowOf(origin).tokens;
  const learned = learnedOf(origin).contextTokens;
  return served === undefined ? learned : Math.min(served, learned ?? served);
}

/** Remembers the window that an overflow error named. */
export function learnContextWindow(model: AnyModel, size: number): void {
  const contextTokens = Math.floor(size);
  if (contextTokens < smallestWindow) return;
  learn(
    model as LanguageModelV4,
    { contextTokens },
    `${model.modelId} takes at most ${contextTokens} tokens at a time`,
  );
}

async function servedWindow(
  origin: ModelOrigin,
  signal: AbortSignal | undefined,
  waitMs: number | undefined,
): Promise<number | undefined> {
  const window = windowOf(origin);
  const isDue = window.asking === undefined && Date.now() >= window.askAgainAt;
  if (isDue) {
    window.asking = ask(origin, Math.max(requestLimitMs, waitMs ?? 0)).then(
      ({ tokens, askAgainMs: later }) => {
        window.tokens = tokens ?? window.tokens;
        window.askAgainAt = Date.now() + later;
        window.asking = undefined;
      },
    );
  }
  const patienceMs = window.tokens === undefined ? waitMs : undefined;
  if (isDue || patienceMs !== undefined)
    await Promise.race([window.asking, aMoment(signal, patienceMs ?? firstWaitMs)]);
  return window.tokens;
}

function windowOf({ endpoint, modelId }: ModelOrigin): Window {
  const key = JSON.stringify([endpoint.baseUrl, modelId]);
  const known = windows.get(key) ?? { askAgainAt: 0 };
  if (!windows.has(key)) windows.set(key, known);
  return known;
}

function aMoment(signal: AbortSignal | undefined, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  timer.unref();
  signal?.addEventListener('abort', () => resolve(), { once: true });
  if (signal?.aborted) resolve();
  return promise.finally(() => clearTimeout(timer));
}

interface Answer {
  tokens?: number | undefined;
  /** When it may be worth asking again. */
  askAgainMs: number;
}

const settled = (tokens: number | undefined): Answer => ({ tokens, askAgainMs: askAgainMs });

/** Asks what costs nothing: the list of models first, then what gateways for self-hosting have beside it. */
async function ask({ endpoint, modelId }: ModelOrigin, limitMs: number): Promise<Answer> {
  const query = new URLSearchParams(endpoint.query).toString();
  let isBusy = false;
  const read = createReader(endpoint.headers, limitMs, () => {
    isBusy = true;
  });
  const listing = await read(`${endpoint.baseUrl}/models${query === '' ? '' : `?${query}`}`);
  if (listing === undefined) return { askAgainMs: busyAgainMs };
  const entries = listSchema.safeParse(listing).data?.data ?? [];
  const entry = entries.find(({ id }) => isSameModel(id, modelId));
  const listed =
    entry &&
    (entry.max_model_len ??
      entry.top_provider?.context_length ??
      entry.context_length ??
      entry.context_window);
  if (listed !== undefined) return settled(listed);
  if (isHosted(endpoint.baseUrl)) return settled(entry?.max_context_length);
  const root = endpoint.baseUrl.replace(/\/v\d+$/, '');
  for (const askGateway of gateways) {
    const answer = await askGateway(root, modelId, read);
    if (answer !== undefined) return answer;
  }
  return isBusy ? { askAgainMs: busyAgainMs } : settled(entry?.max_context_length);
}

const count = z.number().int().min(smallestWindow).optional().catch(undefined);

/** vLLM and SGLang say `max_model_len`, OpenRouter and Together `context_length`, Groq `context_window`. */
const listSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      max_model_len: count,
      context_length: count,
      /** OpenRouter: where it sends the request, which may take less than the model could. */
      top_provider: z.object({ context_length: count }).optional().catch(undefined),
      context_window: count,
      /** Mistral, and LM Studio at its own address: what the model could take. */
      max_context_length: count,
      /** LM Studio, for a model that is loaded. */
      loaded_context_length: count,
      state: z.string().optional(),
    }),
  ),
});

/** Public services that offer nothing but the list; others are never asked for more than they have. */
function isHosted(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return /(^|\.)(openai\.com|openai\.azure\.com|anthropic\.com|googleapis\.com|mistral\.ai|openrouter\.ai|groq\.com|together\.(ai|xyz)|deepseek\.com|amazonaws\.com|x\.ai)$/.test(
    hostname,
  );
}

/** Ollama lists `llama3:latest` where people write `llama3`. */
function isSameModel(listed: string, name: string): boolean {
  return listed === name || listed === `${name}:latest`;
}

/** The JSON at an address; undefined when it cannot be reached, null when there is nothing of use. */
type Reader = (address: string, body?: unknown) => Promise<unknown>;

type AskGateway = (root: string, modelId: string, read: Reader) => Promise<Answer | undefined>;

function createReader(headers: Record<string, string>, limitMs: number, onBusy: () => void): Reader {
  return async (address, body) => {
    const post =
      body === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          };
    try {
      const signal = AbortSignal.timeout(limitMs);
      const response = await fetch(address, { ...post, signal, redirect: 'error' });
      const text = await limitBody(response, { maxBytes: longestAnswer }).text();
      if (response.status >= 500) onBusy();
      return response.ok ? parseJson(text) : null;
    } catch {
      // The turn itself meets the endpoint next and says what is wrong with it.
      onBusy();
      return undefined;
    }
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const showSchema = z.object({
  parameters: z.string().catch(''),
  model_info: z.record(z.string(), z.unknown()),
  remote_host: z.string().optional().catch(undefined),
});

const runningSchema = z.object({
  models: z.array(z.object({ name: z.string(), context_length: count })),
});

/** Ollama: what a loaded model was given, else `num_ctx` of its Modelfile, else the server's default. */
const askOllama: AskGateway = async (root, modelId, read) => {
  const show = showSchema.safeParse(await read(`${root}/api/show`, { model: modelId }));
  if (!show.success) return undefined;
  const { parameters, model_info, remote_host } = show.data;
  const trained = Object.entries(model_info).find(([name]) => name.endsWith('.context_length'))?.[1];
  const most = typeof trained === 'number' ? trained : Number.POSITIVE_INFINITY;
  if (remote_host !== undefined) return settled(Number.isFinite(most) ? most : undefined);
  const running = runningSchema.safeParse(await read(`${root}/api/ps`)).data?.models ?? [];
  const loaded = running.find(({ name }) => isSameModel(name, modelId));
  if (loaded?.context_length !== undefined) return settled(loaded.context_length);
  const numCtx = Number(/^num_ctx\s+(\d+)/m.exec(parameters)?.[1]);
  if (numCtx > 0) return settled(Math.min(numCtx, most));
  // Once the model is loaded, newer servers say what it has been given.
  return { tokens: Math.min(defaultLoadedTokens, most), askAgainMs: loaded === undefined ? 0 : askAgainMs };
};

/** LM Studio: what a loaded model was given. */
const askLmStudio: AskGateway = async (root, modelId, read) => {
  const listed = listSchema.safeParse(await read(`${root}/api/v0/models`)).data?.data;
  const entry = listed?.find(({ id }) => isSameModel(id, modelId));
  if (entry === undefined) return undefined;
  const { loaded_context_length: loaded, max_context_length: most, state } = entry;
  if (loaded !== undefined || state === 'loaded') return settled(loaded ?? most);
  return { tokens: Math.min(defaultLoadedTokens, most ?? defaultLoadedTokens), askAgainMs: 0 };
};

const propsSchema = z.object({ default_generation_settings: z.object({ n_ctx: count }) });

/** llama.cpp: the context of one slot. */
const askLlamaCpp: AskGateway = async (root, _modelId, read) => {
  const props = propsSchema.safeParse(await read(`${root}/props`)).data;
  const tokens = props?.default_generation_settings.n_ctx;
  return tokens === undefined ? undefined : settled(tokens);
};

const infoSchema = z.object({
  data: z.array(
    z.object({
      model_name: z.string(),
      model_info: z.object({ max_input_tokens: count, max_tokens: count }).optional().catch(undefined),
    }),
  ),
});

/** LiteLLM: the smallest of the deployments behind a name. */
const askLiteLlm: AskGateway = async (root, modelId, read) => {
  const info = infoSchema.safeParse(await read(`${root}/model/info`)).data?.data ?? [];
  const sizes = info
    .filter(({ model_name }) => model_name === modelId)
    .map(({ model_info }) => model_info?.max_input_tokens ?? model_info?.max_tokens)
    .filter((tokens) => tokens !== undefined);
  return sizes.length === 0 ? undefined : settled(Math.min(...sizes));
};

const gateways: readonly AskGateway[] = [askOllama, askLmStudio, askLlamaCpp, askLiteLlm];
