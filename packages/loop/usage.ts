import type { TokenCounts } from '@trunkline/llm';
import type { LanguageModelUsage, ModelMessage } from 'ai';
import type { TurnLimits, TurnOptions, Usage } from './options.ts';

const asciiPerToken = 4;

const tokensPerMessage = 4;

const tokensPerFile = 1000;

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };

/** A model call as far as its usage goes. */
export interface MeteredCall {
  /** Names under which the price may be found, the likeliest first. */
  models: string[];
  reported: LanguageModelUsage | undefined;
  /** What went in and came out, for an estimate where the endpoint reports no usage. */
  input: string | readonly ModelMessage[];
  output: string | readonly ModelMessage[];
}

/** Adds a call. The cost is known only as long as the cost of every call is. */
export function addUsage(sum: Usage, call: MeteredCall, cost: TurnOptions['cost']): Usage {
  const tokens = countsOf(call);
  const inputTokens = sum.inputTokens + tokens.inputTokens;
  const outputTokens = sum.outputTokens + tokens.outputTokens;
  const dollars = costOf(call.models, tokens, cost);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(dollars === undefined || sum.costUsd === undefined ? {} : { costUsd: sum.costUsd + dollars }),
  };
}

function countsOf({ reported, input, output }: MeteredCall) {
  return {
    inputTokens: reported?.inputTokens ?? estimateTokens(input),
    outputTokens: reported?.outputTokens ?? estimateTokens(output),
    cachedInputTokens: reported?.inputTokenDetails.cacheReadTokens,
  };
}

function costOf(models: string[], tokens: TokenCounts, cost: TurnOptions['cost']): number | undefined {
  for (const model of models) {
    const dollars = cost?.(model, tokens);
    if (dollars !== undefined) return dollars;
  }
  return undefined;
}

/** Which part of the budget is spent, in words; undefined while there is some left. */
export function spentBudget({ totalTokens, costUsd }: Usage, limits: TurnLimits): string | undefined {
  if (limits.tokens !== undefined && totalTokens >= limits.tokens)
    return `${totalTokens} of ${limits.tokens} tokens`;
  if (limits.costUsd !== undefined && costUsd !== undefined && costUsd >= limits.costUsd) {
    return `$${costUsd.toFixed(4)} of $${limits.costUsd}`;
  }
  return undefined;
}

/**
 * A rough count of tokens without a tokeniser: one for four ASCII characters, one for any other character,
 * four for the frame of each message, and a thousand for an image or file.
 */
export function estimateTokens(content: string | readonly ModelMessage[]): number {
  if (typeof content === 'string') return estimateText(content);
  return content.reduce((sum, message) => sum + tokensPerMessage + estimateContent(message.content), 0);
}

function estimateContent(content: ModelMessage['content']): number {
  if (typeof content === 'string') return estimateText(content);
  return content.reduce((sum, part) => sum + estimatePart(part), 0);
}

function estimatePart(part: Exclude<ModelMessage['content'], string>[number]): number {
  if (part.type === 'text' || part.type === 'reasoning') return estimateText(part.text);
  if (part.type === 'file' || part.type === 'image' || part.type === 'reasoning-file') return tokensPerFile;
  return estimateText(JSON.stringify(part));
}

function estimateText(text: string): number {
  const others = text.match(/[^\p{ASCII}]/gu)?.length ?? 0;
  return Math.ceil((text.length - others) / asciiPerToken) + others;
}
