import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { attempt, type CallPolicy } from './resilient-model.ts';
import { tryInTurn } from './retry.ts';
import type { EmbeddingModel } from './wire/embedding-model.ts';

const batchSize = 128;

/** Vectors for texts, in the order of the texts. */
export async function embedTexts(
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
