import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import type { Environment } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';
import type { ModelGateway, ModelGatewayOptions } from './gateway-options.ts';
import { ModelError } from './model-error.ts';
import {
  definedOf,
  inMilliseconds,
  type ModelRole,
  ModelsFile,
  type RoleModel,
} from './profiles/models-file.ts';
import { learn, type ModelProfile, profileOf } from './profiles/profile.ts';
import type { Logger } from './retry.ts';

/** The settings of models that every service has. */
export interface SharedModelOptions {
  trunklineHome: string;
  llmGatewayUrl: string | undefined;
  llmApiKey: string | undefined;
  llmHeaders?: Readonly<Record<string, string>> | undefined;
  llmModel: string | undefined;
  llmFastModel: string | undefined;
  llmJudgeModel: string | undefined;
  llmVisionModel: string | undefined;
  llmContextTokens: number | undefined;
  llmTools: ModelProfile['tools'] | undefined;
  llmFirstTokenTimeout: number | undefined;
  llmIdleTimeout: number | undefined;
  llmAnswerTimeout: number | undefined;
  llmLoadingTimeout: number | undefined;
}

export interface GatewayContext {
  env?: Environment | undefined;
  logger?: Logger | undefined;
  /** `models.yaml`, where it is open already. */
  file?: ModelsFile | undefined;
}

/** What a gateway needs, from the variables and `models.yaml`; where both name something, the variable wins. */
export function gatewaySettings(options: SharedModelOptions, { env, logger, ...given }: GatewayContext = {}) {
  const file = given.file ?? new ModelsFile({ home: options.trunklineHome, env, logger });
  const chat = file.role('chat');
  const isElsewhere = options.llmGatewayUrl === undefined && chat?.url !== undefined;
  const model = options.llmModel ?? chat?.model;
  const ofChat = definedOf<Partial<ModelProfile>>({
    contextTokens: options.llmContextTokens,
    tools: options.llmTools,
  });
  const saysMore = Object.keys(ofChat).length > 0;
  return {
    url: isElsewhere ? chat.url : options.llmGatewayUrl,
    apiKey: isElsewhere ? chat.api_key : options.llmApiKey,
    headers: isElsewhere ? chat.headers : options.llmHeaders,
    file: isElsewhere ? MODELS_FILE : undefined,
    model,
    fastModel: options.llmFastModel,
    judgeModel: options.llmJudgeModel,
    visionModel: options.llmVisionModel,
    firstTokenTimeoutMs: inMilliseconds(options.llmFirstTokenTimeout),
    idleTimeoutMs: inMilliseconds(options.llmIdleTimeout),
    answerTimeoutMs: inMilliseconds(options.llmAnswerTimeout),
    loadingTimeoutMs: inMilliseconds(options.llmLoadingTimeout),
    roles: (role: ModelRole) => file.role(role),
    profiles: (_baseUrl: string, modelId: string) =>
      saysMore && modelId === model ? { ...file.profile(modelId), ...ofChat } : file.profile(modelId),
    logger,
  } satisfies ModelGatewayOptions;
}

const MODELS_FILE = 'models.yaml';

/** Roles that may have an endpoint of their own, beside that of the chat. */
const otherRoles = ['helper', 'judge', 'vision', 'embeddings'] as const;

/** Other endpoints that roles name, each held ready once. */
const mostEndpoints = 20;

/** A gateway whose roles have models of their own, at other endpoints where they are set so. */
export function withRoles(
  gateway: ModelGateway,
  options: ModelGatewayOptions,
  open: (options: ModelGatewayOptions) => ModelGateway,
): ModelGateway {
  const others = new BoundedMap<string, ModelGateway>(mostEndpoints);
  const gatewayOf = ({ model, url, api_key: apiKey, headers }: RoleModel): ModelGateway => {
    if (url === undefined) return gateway;
    const id = JSON.stringify([url, apiKey, headers, model]);
    const known = others.get(id);
    if (known !== undefined) return known;
    const other = open({
      ...options,
      url,
      apiKey,
      headers,
      file: MODELS_FILE,
      model,
      fastModel: undefined,
      embeddingModel: model,
      fallbackModels: [],
    });
    others.set(id, other);
    return other;
  };
  const named = (role: ModelRole, setting: string | undefined) => {
    if (setting) return gateway.languageModel(setting);
    const given = options.roles?.(role);
    return given && gatewayOf(given).languageModel(given.model);
  };
  const vision = () => named('vision', options.visionModel);
  return {
    ...gateway,
    languageModel: (name) => withVision(gateway.languageModel(name), vision),
    fastModel: () => named('helper', options.fastModel) ?? gateway.languageModel(),
    judgeModel: () => named('judge', options.judgeModel) ?? gateway.languageModel(),
    problem: async () => {
      const others = otherRoles
        .flatMap((role) => options.roles?.(role) ?? [])
        .filter(({ url }) => url !== undefined);
      const problems = await Promise.all([gateway, ...others.map(gatewayOf)].map((each) => each.problem()));
      return problems.find((problem) => problem !== undefined);
    },
    get embed() {
      const given = options.roles?.('embeddings');
      const isElsewhere = given?.url !== undefined && given.model === options.embeddingModel;
      return (isElsewhere ? gatewayOf(given) : gateway).embed;
    },
  };
}

/** A model that sees no images hands a turn that holds one to the vision model, and knows of older ones only that they were there. */
function withVision(model: LanguageModelV4, vision: () => LanguageModelV4 | undefined): LanguageModelV4 {
  const call = async <Result>(
    options: LanguageModelV4CallOptions,
    ask: (model: LanguageModelV4, options: LanguageModelV4CallOptions) => PromiseLike<Result>,
  ): Promise<Result> => {
    if (!options.prompt.some(hasImage)) return await ask(model, options);
    if (profileOf(model).images !== false) {
      try {
        return await ask(model, options);
      } catch (error) {
        if (!isAboutImages(error)) throw error;
        learn(model, { images: false }, `${model.modelId} sees no images`);
      }
    }
    const latest = options.prompt.findLast(({ role }) => role === 'user');
    if (latest === undefined || !hasImage(latest)) {
      return await ask(model, { ...options, prompt: options.prompt.map(withoutImages) });
    }
    const seeing = vision();
    if (seeing === undefined) throw new ModelError('images-unsupported', { detail: model.modelId });
    return await ask(seeing, options);
  };
  return {
    ...model,
    doGenerate: (options) => call(options, (asked, given) => asked.doGenerate(given)),
    doStream: (options) => call(options, (asked, given) => asked.doStream(given)),
  };
}

function hasImage(message: LanguageModelV4Message): boolean {
  return message.role === 'user' && message.content.some(isImage);
}

function isImage(part: { type: string; mediaType?: string }): boolean {
  return part.type === 'file' && part.mediaType?.startsWith('image') === true;
}

function withoutImages(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== 'user') return message;
  const content = message.content.map((part) =>
    isImage(part) ? { type: 'text' as const, text: '(an image that you cannot see)' } : part,
  );
  return { ...message, content };
}

/** As vLLM, Ollama, llama.cpp, OpenRouter and providers refuse a request with an image. */
function isAboutImages(error: unknown): boolean {
  if (!(error instanceof ModelError)) return false;
  if (!['bad-request', 'not-found', 'server-error'].includes(error.code)) return false;
  return (
    /\b(image|images|image_url|vision|multimodal|mmproj)\b/i.test(error.message) &&
    /\b(not|no|invalid|unsupported|unknown|only|does ?n.t|cannot|missing)\b/i.test(error.message)
  );
}
