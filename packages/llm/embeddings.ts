import type { EmbeddingModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { ModelError } from './model-error.ts';
import { attempt, type CallPolicy } from './resilient-model.ts';
import { tryInTurn } from './retry.ts';

const batchSize = 128;

/** Vectors for texts, in the order of the texts. */
export async function embedTexts(
  model: EmbeddingModelV4,
  texts: readonly string[],
  policy: CallPolicy,
  signal: AbortSignal | undefined,
): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let start = 0; start < texts.length; start += batchSize) {
    const values = texts.slice(start, start + batchSize);
    vectors.push(
      ...(await tryInTurn([model], policy, signal, () => embedOnce(model, values, policy, signal))),
    );
  }
  return vectors;
}

async function embedOnce(
  model: EmbeddingModelV4,
  values: string[],
  policy: CallPolicy,
  caller: AbortSignal | undefined,
): Promise<number[][]> {
  const embed = async (abortSignal: AbortSignal) => {
    const result = await model.doEmbed({ values, abortSignal });
    if (result.embeddings.length !== values.length)
      throw new ModelError('bad-answer', { detail: 'a vector is missing' });
    return result;
  };
  const { embeddings } = await attempt(model, policy, caller, embed, ({ usage }) => ({
    finishReason: 'stop',
    usage: inputUsage(usage?.tokens),
  }));
  return embeddings;
}

function inputUsage(tokens: number | undefined): LanguageModelV4Usage {
  return {
    inputTokens: { total: tokens, noCache: tokens, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 0, text: 0, reasoning: undefined },
  };
}
