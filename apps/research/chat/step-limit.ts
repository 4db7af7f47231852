import type { ModelGateway } from '@trunkline/llm';

type LanguageModel = ReturnType<ModelGateway['languageModel']>;

/** A model that is offered no tools once it has had its steps, so that the turn ends with an answer. */
export function limitToolSteps(
  model: LanguageModel,
  most: number,
): { model: LanguageModel; isOver(): boolean } {
  let calls = 0;
  return {
    isOver: () => calls > most,
    model: {
      specificationVersion: model.specificationVersion,
      provider: model.provider,
      modelId: model.modelId,
      supportedUrls: model.supportedUrls,
      doGenerate: (options) => model.doGenerate(options),
      doStream: ({ tools, toolChoice, ...options }) => {
        calls += 1;
        if (calls > most || tools === undefined) return model.doStream(options);
        return model.doStream({ ...options, tools, ...(toolChoice !== undefined && { toolChoice }) });
      },
    },
  };
}
