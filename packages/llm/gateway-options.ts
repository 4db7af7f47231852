import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ModelCheck } from './check.ts';
import type { ModelProblem } from './health.ts';
import type { ModelCall } from './meter.ts';
import type { ModelRole, RoleModel } from './profiles/models-file.ts';
import type { ModelPrice, PriceTable } from './profiles/prices.ts';
import type { ModelProfile } from './profiles/profile.ts';
import type { Logger, Timing } from './retry.ts';

export interface ModelGatewayOptions {
  /** Base address of an OpenAI-compatible API. Without it the offline demo model answers. */
  url?: string | undefined;
  apiKey?: string | undefined;
  /** More headers, for this endpoint alone. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** The file that names the endpoint, for words about it; variables when not given. */
  file?: string | undefined;
  model?: string | undefined;
  /** A cheaper model for small jobs; the main model when not given. */
  fastModel?: string | undefined;
  /** A model that checks what others wrote; the main model when not given. */
  judgeModel?: string | undefined;
  /** Asked in place of a model that sees no images. */
  visionModel?: string | undefined;
  /** Models of roles that no option names, with their endpoints, as they are now. */
  roles?: ((role: ModelRole) => RoleModel | undefined) | undefined;
  /** Models to try in order when the first fails for good. */
  fallbackModels?: readonly string[] | undefined;
  embeddingModel?: string | undefined;
  /** Limit of an answer that does not come as a stream. */
  timeoutMs?: number | undefined;
  /** Limits that win over those of the model's profile: see `ModelProfile`. */
  firstTokenTimeoutMs?: number | undefined;
  idleTimeoutMs?: number | undefined;
  answerTimeoutMs?: number | undefined;
  loadingTimeoutMs?: number | undefined;
  /** Retries of one model beyond the first attempt. */
  maxRetries?: number | undefined;
  /** The operator's own prices, which win over the built-in list. */
  prices?: PriceTable | undefined;
  /** What the configuration says of a model at an endpoint, as it is now: another object once it has changed. */
  profiles?: ((baseUrl: string, modelId: string) => Readonly<Partial<ModelProfile>>) | undefined;
  /** Uses the demo model even where an address is configured. */
  demo?: boolean | undefined;
  onCall?: ((call: ModelCall) => void) | undefined;
  logger?: Logger | undefined;
  timing?: Timing | undefined;
}

interface ModelDescription {
  name: string;
  url: string | undefined;
  demo: boolean;
}

export interface ModelGateway {
  /** The named model, or the configured one. */
  languageModel(name?: string): LanguageModelV4;
  /** For small jobs. */
  fastModel(): LanguageModelV4;
  /** For checks of what others wrote. */
  judgeModel(): LanguageModelV4;
  /** Dollars for a million tokens of the named model, where they are known. */
  price(model: string): ModelPrice | undefined;
  describe(): ModelDescription;
  /** Whether the endpoint answers and offers what is configured, in words. */
  check(signal?: AbortSignal): Promise<ModelCheck>;
  /** What keeps the models from being used, as calls and looks at their lists showed; undefined when nothing does. */
  problem(): Promise<ModelProblem | undefined>;
  /** Vectors for texts; undefined when no embedding model is configured. */
  embed: ((texts: readonly string[], signal?: AbortSignal) => Promise<number[][]>) | undefined;
}
