import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { BoundedMap } from '@trunkline/std';
import { readAnswers } from './answers/read-answers.ts';
import { checkEndpoint, demoCheck, type ModelCheck } from './check.ts';
import { createDemoModel } from './demo/model.ts';
import { embedTexts } from './embeddings.ts';
import { type Endpoint, listModels, parseEndpoint } from './endpoint.ts';
import { explain } from './limits.ts';
import type { ModelCall } from './meter.ts';
import { ModelError } from './model-error.ts';
import { type PriceTable, priceOf } from './profiles/prices.ts';
import { learn, type ModelProfile, profileAt, profileOf, withOrigin } from './profiles/profile.ts';
import { type CallPolicy, createResilientModel } from './resilient-model.ts';
import { type Logger, systemTiming, type Timing } from './retry.ts';
import { createChatModel } from './wire/chat-model.ts';

/** Models by name that a gateway holds ready. */
const mostModels = 100;

export interface ModelGatewayOptions {
  /** Base address of an OpenAI-compatible API. Without it the offline demo model answers. */
  url?: string | undefined;
  apiKey?: string | undefined;
  model?: string | undefined;
  /** A cheaper model for small jobs; the main model when not given. */
  fastModel?: string | undefined;
  /** Models to try in order when the first fails for good. */
  fallbackModels?: readonly string[] | undefined;
  embeddingModel?: string | undefined;
  /** Limit of an answer that does not come as a stream. */
  timeoutMs?: number | undefined;
  /** Limits that win over those of the model's profile: see `ModelProfile`. */
  firstTokenTimeoutMs?: number | undefined;
  idleTimeoutMs?: number | undefined;
  loadingTimeoutMs?: number | undefined;
  /** Retries of one model beyond the first attempt. */
  maxRetries?: number | undefined;
  /** The operator's own prices, which win over the built-in list. */
  prices?: PriceTable | undefined;
  /** What the configuration says of a model at an endpoint, as it is now. */
  profiles?: ((baseUrl: string, modelId: string) => Partial<ModelProfile>) | undefined;
  /** Uses the demo model even where an address is configured. */
  demo?: boolean | undefined;
  onCall?: ((call: ModelCall) => void) | undefined;
  logger?: Logger | undefined;
  timing?: Timing | undefined;
}

export interface ModelDescription {
  name: string;
  url: string | undefined;
  demo: boolean;
}

export interface ModelGateway {
  /** The named model, or the configured one. */
  languageModel(name?: string): LanguageModelV4;
  fastModel(): LanguageModelV4;
  describe(): ModelDescription;
  /** Whether the endpoint answers and offers what is configured, in words. */
  check(signal?: AbortSignal): Promise<ModelCheck>;
  /** The names of the models at the endpoint. */
  models(signal?: AbortSignal): Promise<string[]>;
  /** Vectors for texts; undefined when no embedding model is configured. */
  embed: ((texts: readonly string[], signal?: AbortSignal) => Promise<number[][]>) | undefined;
}

/** The way to every model: an OpenAI-compatible endpoint, or the offline demo model when there is none. */
export function createModelGateway(options: ModelGatewayOptions): ModelGateway {
  if (!options.url || options.demo) return createDemoGateway(options);
  return createEndpointGateway(options, parseEndpoint(options.url, options.apiKey));
}

function createEndpointGateway(options: ModelGatewayOptions, endpoint: Endpoint): ModelGateway {
  const policy = policyOf(options, endpoint.secrets);
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: endpoint.baseUrl,
    headers: endpoint.headers,
    queryParams: endpoint.query,
  });
  const { model, fastModel, embeddingModel, fallbackModels = [] } = options;
  const origin = (modelId: string) => ({
    endpoint,
    modelId,
    configured: () => ({ ...options.profiles?.(endpoint.baseUrl, modelId), ...limitsOf(options) }),
    logger: options.logger,
  });
  const known = (modelId: string) => {
    const place = origin(modelId);
    const wire = createChatModel({
      endpoint,
      model: modelId,
      translation: policy.translation,
      profile: () => profileAt(place),
      learn: (facts, reason) => learn(place, facts, reason),
    });
    const answers = readAnswers(
      wire,
      () => profileAt(place),
      (facts, reason) => learn(place, facts, reason, { quiet: true }),
    );
    return withOrigin(answers, place);
  };
  const models = new BoundedMap<string, LanguageModelV4>(mostModels);
  const languageModel = (name = model) => {
    if (!name) throw new ModelError('misconfigured', { detail: 'set LLM_MODEL to the name of a model' });
    const made = models.get(name);
    if (made !== undefined) return made;
    const fallbacks = fallbackModels.filter((fallback) => fallback !== name);
    const chain = [known(name), ...fallbacks.map(known)] as const;
    const resilient = withOrigin(createResilientModel(chain, policy), origin(name));
    models.set(name, resilient);
    return resilient;
  };
  return {
    languageModel,
    fastModel: () => languageModel(fastModel || model),
    describe: () => ({ name: model || 'LLM_MODEL is not set', url: endpoint.shownUrl, demo: false }),
    check: (signal) => checkEndpoint(endpoint, { model, fastModel, fallbackModels }, signal),
    models: (signal) => listModels(endpoint, signal),
    embed: embeddingModel
      ? (texts, signal) => embedTexts(provider.embeddingModel(embeddingModel), texts, policy, signal)
      : undefined,
  };
}

function createDemoGateway(options: ModelGatewayOptions): ModelGateway {
  const policy = { ...policyOf(options, []), priceOf: () => ({ input: 0, output: 0 }) };
  const demo = createResilientModel([createDemoModel()], policy);
  return {
    languageModel: () => demo,
    fastModel: () => demo,
    describe: () => ({ name: demo.modelId, url: undefined, demo: true }),
    check: async () => demoCheck,
    models: async () => [demo.modelId],
    embed: undefined,
  };
}

function limitsOf(options: ModelGatewayOptions): Partial<ModelProfile> {
  const { firstTokenTimeoutMs, idleTimeoutMs, loadingTimeoutMs } = options;
  return {
    ...(firstTokenTimeoutMs !== undefined && { firstTokenMs: firstTokenTimeoutMs }),
    ...(idleTimeoutMs !== undefined && { idleMs: idleTimeoutMs }),
    ...(loadingTimeoutMs !== undefined && { loadingMs: loadingTimeoutMs }),
  };
}

function policyOf(options: ModelGatewayOptions, secrets: readonly string[]): CallPolicy {
  const timing = options.timing ?? systemTiming;
  const translation = { secrets, now: timing.now };
  return {
    timeoutMs: options.timeoutMs,
    maxRetries: options.maxRetries ?? 2,
    timing,
    translation,
    logger: options.logger,
    onCall: options.onCall,
    priceOf: (model) => priceOf(model, options.prices),
    loadingMs: (model) => profileOf(model).loadingMs,
    explain: (error, signal) => explain(error, signal, undefined, translation),
  };
}
