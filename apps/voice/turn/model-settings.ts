import type { ModelGateway } from '@trunkline/llm';

export type Model = ReturnType<ModelGateway['languageModel']>;

export interface ModelSettings {
  temperature: number;
  maxOutputTokens: number;
}

/** The same model, asked with these settings. */
export function withSettings(model: Model, settings: ModelSettings): Model {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate({ ...options, ...settings }),
    doStream: (options) => model.doStream({ ...options, ...settings }),
  };
}
