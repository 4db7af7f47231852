import type { TokenCounts } from '@trunkline/llm';
import type { LanguageModelUsage, ModelMessage } from 'ai';
import type { TurnLimits, TurnOptions, Usage } from './options.ts';

const lettersPerToken = 4;

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

/**
 * A rough count of tokens without a tokeniser: one for four letters, six tenths for a digit, a mark or a letter of
 * Greek, Cyrillic or with an accent, one for a character of other scripts, four for the frame of each message, and a
 * thousand for an image or file. Against four tokenisers it is within a fifth for prose, code and JSON; it counts too
 * much rather than too little for scripts that newer tokenisers know better.
 */
export function estimateTokens(content: string | readonly ModelMessage[]): number {
  if (typeof content === 'string') return estimateText(content);
  return content.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** A conversation is counted several times in each step, and its messages do not change. */
const counted = new WeakMap<ModelMessage, number>();

function estimateMessage(message: ModelMessage): number {
  const tokens = counted.get(message) ?? tokensPerMessage + estimateContent(message.content);
  counted.set(message, tokens);
  return tokens;
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
  let letters = 0;
  let others = 0;
  let wasBlank = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const isBlank = code <= 0x20;
    if (isBlank && wasBlank) others += 0.06;
    else if (isBlank || isAsciiLetter(code)) letters += 1;
    else if (code < 0x530) others += 0.6;
    else others += isHalfOfPair(code) ? 0.75 : 1;
    wasBlank = isBlank;
  }
  return Math.ceil(letters / lettersPerToken + others);
}

function isAsciiLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isHalfOfPair(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
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
