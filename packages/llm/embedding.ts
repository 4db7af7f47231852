import type { EmbeddingModelV4, LanguageModelV4Usage } from '@ai-sdk/provider';
import { startLimits } from './limits.ts';
import { startMeter } from './meter.ts';
import { ModelError } from './model-error.ts';
import type { CallPolicy } from './resilient-model.ts';
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
  const meter = startMeter(model.modelId, policy);
  const limits = startLimits(caller, { totalMs: policy.timeoutMs }, policy);
  try {
    const { embeddings, usage } = await model.doEmbed({ values, abortSignal: limits.signal });
    if (embeddings.length !== values.length)
      throw new ModelError('bad-answer', { detail: 'a vector is missing' });
    meter.report({ finishReason: 'stop', usage: inputUsage(usage?.tokens) });
    return embeddings;
  } catch (error) {
    const failure = limits.explain(error);
    meter.report({ error: failure });
    throw failure;
  } finally {
    limits.end();
  }
}

function inputUsage(tokens: number | undefined): LanguageModelV4Usage {
  return {
    inputTokens: { total: tokens, noCache: tokens, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 0, text: 0, reasoning: undefined },
  };
}
