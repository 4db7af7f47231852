import { estimateTokens, type TokenCounts } from '@trunkline/llm';
import type { LanguageModelUsage, ModelMessage } from 'ai';
import type { TurnLimits, TurnOptions, Usage } from './options.ts';

export { estimateTokens };

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };

/** A model call as far as its usage goes. */
export interface MeteredCall {
  /** Names under which the price may be found, the likeliest first. */
  models: string[];
  reported: LanguageModelUsage | undefined;
  /** What went in and came out, for an estimate where the endpoint reports no usage. */
  input: string | readonly ModelMessage[];
  output: string | readonly ModelMessage[];
  /** What the schemas of the tools take of the input. */
  toolTokens?: () => number;
}

/** Adds a call. The cost is known only as long as the cost of every call is. */
export function addUsage(sum: Usage, call: MeteredCall, cost: TurnOptions['cost']): Usage {
  const tokens = countsOf(call);
  const inputTokens = sum.inputTokens + tokens.inputTokens;
  const outputTokens = sum.outputTokens + tokens.outputTokens;
  const dollars = costOf(call.models, tokens, cost);
  const spent = spentUsd(sum) + (dollars ?? 0);
  const isKnown = dollars !== undefined && sum.costUsd !== undefined;
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(isKnown && { costUsd: spent }),
    ...(!isKnown && spent > 0 && { knownCostUsd: spent }),
    ...((sum.estimated || tokens.estimated) && { estimated: true }),
  };
}

/** What the endpoint reports. Some report zeros for everything, which says nothing. */
function countsOf({ reported, input, output, toolTokens }: MeteredCall) {
  const { inputTokens, outputTokens } = reported?.inputTokens ? reported : {};
  return {
    inputTokens: inputTokens ?? estimateTokens(input) + (toolTokens?.() ?? 0),
    outputTokens: outputTokens ?? estimateTokens(output),
    cachedInputTokens: reported?.inputTokenDetails.cacheReadTokens,
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}

function costOf(models: string[], tokens: TokenCounts, cost: TurnOptions['cost']): number | undefined {
  for (const model of models) {
    const dollars = cost?.(model, tokens);
    if (dollars !== undefined) return dollars;
  }
  return undefined;
}

/** Dollars of all calls whose price is known. */
export function spentUsd({ costUsd, knownCostUsd = 0 }: Usage): number {
  return costUsd ?? knownCostUsd;
}

/** Which part of the budget is spent, in words; undefined while there is some left. */
export function spentBudget(usage: Usage, limits: TurnLimits): string | undefined {
  const { totalTokens } = usage;
  if (limits.tokens !== undefined && totalTokens >= limits.tokens)
    return `${totalTokens} of ${limits.tokens} tokens`;
  const spent = spentUsd(usage);
  if (limits.costUsd !== undefined && spent >= limits.costUsd)
    return `$${spent.toFixed(4)} of $${limits.costUsd}`;
  return undefined;
}

/** Left for the answer: a quarter of the window, and no more than a long answer takes. */
const answerShare = 1 / 4;
const longestAnswer = 4096;
/** For what an estimate misses. */
const margin = 1 / 20;

/** Tokens that a prompt may take in a window. An answer whose limit is configured gets its room, up to half of the window. */
export function promptBudget(window: number, answerLimit?: number): number {
  const answer =
    answerLimit === undefined
      ? Math.min(longestAnswer, window * answerShare)
      : Math.min(answerLimit, window / 2);
  return Math.floor(window * (1 - margin) - answer);
}

/** A text without its middle where it is longer than a number of tokens. */
export function cutText(text: string, tokens: number, note: (leftOut: number) => string): string {
  const size = estimateTokens(text);
  if (size <= tokens) return text;
  const words = note(Math.ceil(size - tokens));
  const room = Math.max(0, (tokens - estimateTokens(words)) / size) * text.length;
  const head = text.slice(0, Math.floor(room * 0.75));
  const tail = text.slice(text.length - Math.floor(room * 0.25));
  return `${head}\n${words}\n${tail}`;
}
