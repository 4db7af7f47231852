import type { Logger } from '@trunkline/config';
import { createModelGateway, type ModelCall, type ModelGateway } from '@trunkline/llm';
import type { AgentOptions } from '../options.ts';
import type { LiveConfig } from './config-file.ts';
import { modelSettings } from './setup.ts';

export interface LiveModelOptions {
  options: AgentOptions;
  live: LiveConfig;
  onCall(call: ModelCall): void;
  logger: Logger;
}

/** The way to the model that the configuration names; follows the configuration. */
export class LiveModel {
  readonly #options: LiveModelOptions;
  #gateway: ModelGateway;

  constructor(options: LiveModelOptions) {
    this.#options = options;
    this.#gateway = this.#open();
    options.live.onChange(() => {
      this.#gateway = this.#open();
    });
  }

  get gateway(): ModelGateway {
    return this.#gateway;
  }

  #open(): ModelGateway {
    const { options, live, onCall, logger } = this.#options;
    const { knowledge, routing, model } = live.config;
    const isBundled = knowledge.embeddings === 'bundled' || knowledge.embeddings === 'off';
    return createModelGateway({
      ...modelSettings(options, live.config, live.secrets),
      fastModel: routing.aux_model || options.llmFastModel,
      fallbackModels: routing.fallback_models,
      embeddingModel: isBundled ? undefined : knowledge.embeddings,
      prices: model.prices,
      onCall,
      logger,
    });
  }
}
