import type { Logger } from '@trunkline/config';
import { createModelGateway, type ModelCall, type ModelGateway } from '@trunkline/llm';
import type { AgentOptions } from '../options.ts';
import type { LiveConfig } from './config-file.ts';
import { type ModelSettings, modelSettings } from './setup.ts';

export interface LiveModelOptions {
  options: AgentOptions;
  live: LiveConfig;
  onCall(call: ModelCall): void;
  logger: Logger;
}

/** The gateway to the model that the configuration names. */
export class LiveModel {
  readonly #options: LiveModelOptions;
  #gateway: ModelGateway;

  constructor(options: LiveModelOptions) {
    this.#options = options;
    this.#gateway = this.#open();
  }

  /** Connects as the configuration says now. */
  reload(): void {
    this.#gateway = this.#open();
  }

  get gateway(): ModelGateway {
    return this.#gateway;
  }

  #open(): ModelGateway {
    const { options, live, onCall, logger } = this.#options;
    const { knowledge, routing, model } = live.config;
    const isBundled = knowledge.embeddings === 'bundled' || knowledge.embeddings === 'off';
    const settings = modelSettings(options, live.config, live.secrets);
    this.#warnOfUnsentKey(settings);
    return createModelGateway({
      ...settings,
      fastModel: routing.aux_model || options.llmFastModel,
      fallbackModels: routing.fallback_models,
      embeddingModel: isBundled ? undefined : knowledge.embeddings,
      prices: model.prices,
      onCall,
      logger,
    });
  }

  /** Without the key the model refuses to answer: the log says why it was not sent. */
  #warnOfUnsentKey({ url, apiKey }: ModelSettings): void {
    const { live, logger } = this.#options;
    const { api_key, api_base } = live.secrets.model;
    if (url === undefined || apiKey !== undefined || api_key === '') return;
    const warning =
      'the model key in secrets.yaml belongs to another endpoint and is not sent: set up the model anew with the key of this one, or write it into secrets.yaml';
    logger.warn({ endpoint: url, key_of: api_base }, warning);
  }
}
