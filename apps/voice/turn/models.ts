import { type Environment, type Logger, readVariable } from '@trunkline/config';
import { createModelGateway, type ModelGateway } from '@trunkline/llm';
import type { Skill } from '../skills/skill.ts';

export interface ModelsOptions {
  /** The service's own model. */
  gateway: ModelGateway;
  /** Its name, for skills that name only another address. */
  model: string | undefined;
  maxTokens: number;
  temperature: number;
  env: Environment;
  logger: Logger;
}

/** The model of each persona. */
export class Models {
  readonly #options: ModelsOptions;
  /** Endpoints that skills name, by address and key. */
  readonly #gateways = new Map<string, ModelGateway>();

  constructor(options: ModelsOptions) {
    this.#options = options;
  }

  of({ llm, temperature, maxTokens }: Skill): Model {
    const gateway = llm.url === undefined ? this.#options.gateway : this.#gatewayAt(llm.url, llm.api_key_env);
    return withSettings(gateway.languageModel(llm.model), {
      temperature: temperature ?? this.#options.temperature,
      maxOutputTokens: maxTokens ?? this.#options.maxTokens,
    });
  }

  #gatewayAt(url: string, keyVariable: string | undefined): ModelGateway {
    const { env, model, logger } = this.#options;
    // The service's own key is not sent to an address that a skill names.
    const apiKey = keyVariable === undefined ? undefined : readVariable(keyVariable, env);
    const id = JSON.stringify([url, apiKey]);
    const known = this.#gateways.get(id);
    if (known !== undefined) return known;
    const gateway = createModelGateway({ url, apiKey, model, logger });
    this.#gateways.set(id, gateway);
    return gateway;
  }
}

export type Model = ReturnType<ModelGateway['languageModel']>;

interface ModelSettings {
  temperature: number;
  maxOutputTokens: number;
}

/** The same model, asked with these settings. */
function withSettings(model: Model, settings: ModelSettings): Model {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate({ ...options, ...settings }),
    doStream: (options) => model.doStream({ ...options, ...settings }),
  };
}
