import type { LanguageModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { BoundedMap } from '@trunkline/std';
import { readAnswers } from './answers/read-answers.ts';
import { checkEndpoint, demoCheck } from './check.ts';
import { silentCutWindow } from './context-window.ts';
import { createDemoModel } from './demo/model.ts';
import { type Endpoint, parseEndpoint } from './endpoint.ts';
import type { ModelGateway, ModelGatewayOptions } from './gateway-options.ts';
import { healthOf } from './health.ts';
import { explain } from './limits.ts';
import { ModelError, namePage } from './model-error.ts';
import { ModelsFile } from './profiles/models-file.ts';
import { priceOf } from './profiles/prices.ts';
import { learn, type ModelProfile, profileAt, profileOf, withOrigin } from './profiles/profile.ts';
import { attempt, type CallPolicy, createResilientModel } from './resilient-model.ts';
import { systemTiming, tryInTurn } from './retry.ts';
import { type GatewayContext, gatewaySettings, type SharedModelOptions, withRoles } from './roles.ts';
import { createChatModel } from './wire/chat-model.ts';
import { createEmbeddingModel, type EmbeddingModel } from './wire/embedding-model.ts';

/** Models by name that a gateway holds ready. */
const mostModels = 100;

/** The way to every model: an OpenAI-compatible endpoint, or the offline demo model when there is none. */
export function createModelGateway(options: ModelGatewayOptions): ModelGateway {
  if (!options.url || options.demo) return createDemoGateway(options);
  return withRoles(openGateway(options), options, openGateway);
}

/**
 * The way to the models that the variables and `models.yaml` name now: another endpoint, key or model of the chat counts
 * from the next call, also between the demo model and a real one. `more` wins over both.
 */
export function createLiveGateway(
  options: SharedModelOptions,
  context: GatewayContext,
  more: Partial<ModelGatewayOptions> = {},
): ModelGateway {
  const file = context.file ?? new ModelsFile({ ...context, home: options.trunklineHome });
  let opened: { id: string; gateway: ModelGateway; of: object } | undefined;
  const now = (): ModelGateway => {
    const of = file.state;
    if (opened?.of === of) return opened.gateway;
    const settings = { ...gatewaySettings(options, { ...context, file }), ...more };
    const { url, apiKey, headers, model, embeddingModel } = settings;
    const id = JSON.stringify([url, apiKey, headers, model, embeddingModel]);
    opened = { id, gateway: opened?.id === id ? opened.gateway : createModelGateway(settings), of };
    return opened.gateway;
  };
  now();
  return {
    languageModel: (name) => now().languageModel(name),
    fastModel: () => now().fastModel(),
    judgeModel: () => now().judgeModel(),
    price: (model) => now().price(model),
    describe: () => now().describe(),
    check: (signal) => now().check(signal),
    problem: () => now().problem(),
    // Whoever keeps it uses the endpoint of the moment too.
    get embed(): ModelGateway['embed'] {
      const { embed } = now();
      return embed && ((texts, signal) => (now().embed ?? embed)(texts, signal));
    },
  };
}

function openGateway(options: ModelGatewayOptions): ModelGateway {
  const { url = '', apiKey, headers } = options;
  return createEndpointGateway(options, parseEndpoint(url, apiKey, headers));
}

function createEndpointGateway(options: ModelGatewayOptions, endpoint: Endpoint): ModelGateway {
  const health = healthOf(endpoint);
  const onCall: CallPolicy['onCall'] = (call) => {
    health.note(call.model, call.error);
    options.onCall?.(call);
  };
  const policy = { ...policyOf(options, endpoint.secrets), onCall };
  const { model, fastModel, embeddingModel, fallbackModels = [], file } = options;
  const configured = { model, fastModel, fallbackModels, file };
  const limits = limitsOf(options);
  const hasLimits = Object.keys(limits).length > 0;
  const origin = (modelId: string) => ({
    endpoint,
    modelId,
    configured: () => {
      const profile = options.profiles?.(endpoint.baseUrl, modelId);
      return profile === undefined || hasLimits ? { ...profile, ...limits } : profile;
    },
    logger: options.logger,
  });
  const known = (modelId: string) => {
    const place = origin(modelId);
    const wire = createChatModel({
      endpoint,
      model: modelId,
      translation: policy.translation,
      profile: () => ({ ...profileAt(place), mostTokens: place.configured().outputTokens }),
      cutWindow: () => silentCutWindow(place),
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
  const { translation } = policy;
  const embedder =
    embeddingModel &&
    withOrigin(
      createEmbeddingModel({ endpoint, model: embeddingModel, translation }),
      origin(embeddingModel),
    );
  return {
    languageModel,
    fastModel: () => languageModel(fastModel || model),
    judgeModel: () => languageModel(options.judgeModel || model),
    price: policy.priceOf,
    describe: () => ({ name: model || 'LLM_MODEL is not set', url: endpoint.shownUrl, demo: false }),
    check: (signal) => checkEndpoint(endpoint, configured, signal),
    problem: () => health.problem(configured),
    embed: embedder ? (texts, signal) => embedTexts(embedder, texts, policy, signal) : undefined,
  };
}

function createDemoGateway(options: ModelGatewayOptions): ModelGateway {
  const policy = { ...policyOf(options, []), priceOf: () => ({ input: 0, output: 0 }) };
  const demo = createResilientModel([createDemoModel()], policy);
  return {
    languageModel: () => demo,
    fastModel: () => demo,
    judgeModel: () => demo,
    price: policy.priceOf,
    describe: () => ({ name: demo.modelId, url: undefined, demo: true }),
    check: async () => demoCheck,
    problem: async () => undefined,
    embed: undefined,
  };
}

function limitsOf(options: ModelGatewayOptions): Partial<ModelProfile> {
  const { firstTokenTimeoutMs, idleTimeoutMs, answerTimeoutMs, loadingTimeoutMs } = options;
  return {
    ...(firstTokenTimeoutMs !== undefined && { firstTokenMs: firstTokenTimeoutMs }),
    ...(idleTimeoutMs !== undefined && { idleMs: idleTimeoutMs }),
    ...(answerTimeoutMs !== undefined && { answerMs: answerTimeoutMs }),
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
    priceOf: (model) =>
      priceOf(model, options.prices ?? {}, () => options.profiles?.(options.url ?? '', model).price),
    loadingMs: (model) => profileOf(model).loadingMs,
    explain: (error, signal) => {
      const failure = explain(error, signal, undefined, translation);
      return options.file === undefined ? failure : namePage(failure);
    },
  };
}

const batchSize = 128;

/** Vectors for texts, in the order of the texts. */
async function embedTexts(
  model: EmbeddingModel,
  texts: readonly string[],
  policy: CallPolicy,
  signal: AbortSignal | undefined,
): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let start = 0; start < texts.length; start += batchSize) {
    const values = texts.slice(start, start + batchSize);
    const embed = (attemptSignal: AbortSignal) => model.embed(values, attemptSignal);
    const { embeddings } = await tryInTurn([model], policy, signal, () =>
      attempt(model, policy, signal, embed, ({ tokens }) => ({
        finishReason: 'stop',
        usage: inputUsage(tokens),
      })),
    );
    for (const vector of embeddings) vectors.push(vector);
  }
  return vectors;
}

function inputUsage(tokens: number | undefined): LanguageModelV4Usage {
  return {
    inputTokens: { total: tokens, noCache: tokens, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 0, text: 0, reasoning: undefined },
  };
}
