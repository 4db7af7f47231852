import { Deadline } from '@trunkline/std';
import { generateText, type LanguageModelUsage, type ModelMessage } from 'ai';
import type { CompactionOptions } from './options.ts';
import { estimateTokens } from './tokens.ts';
import { transcriptOf } from './transcript.ts';

export interface Compaction {
  messages: ModelMessage[];
  removedMessages: number;
  /** False when the summary failed and older messages were dropped instead. */
  summarised: boolean;
  tokensBefore: number;
  tokensAfter: number;
  /** The call of the summarising model, undefined when it failed. */
  call: { input: string; output: string; usage: LanguageModelUsage } | undefined;
}

const summaryLimitMs = 60_000;
const order =
  'Summarise the conversation below so that it can go on without the original. Keep names, numbers, decisions, wishes of the user, results of tools and open questions. Leave out greetings and repetition. Write plain sentences.';

/**
 * Puts the older part of a conversation into one summary message. The newest messages stay, tool calls stay with their
 * results, and so does the last message of the user. Undefined when there is nothing old enough to summarise.
 */
export async function compact(
  messages: readonly ModelMessage[],
  options: CompactionOptions,
  signal?: AbortSignal,
): Promise<Compaction | undefined> {
  const { older, kept } = split(messages, options);
  if (older.length === 0) return undefined;
  const call = await summarise(older, options, signal);
  const head =
    call === undefined ? droppedNote(older.length) : `Summary of the earlier conversation:\n${call.output}`;
  const result: ModelMessage[] = [{ role: 'user', content: `[${head}]` }, ...kept];
  return {
    messages: result,
    removedMessages: older.length,
    summarised: call !== undefined,
    tokensBefore: estimateTokens(messages),
    tokensAfter: estimateTokens(result),
    call,
  };
}

function droppedNote(count: number): string {
  return `The ${count} oldest messages of this conversation were dropped to make room; they could not be summarised.`;
}

function split(messages: readonly ModelMessage[], options: CompactionOptions) {
  const start = tailStart(messages, options);
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  const isKept = (index: number) => index >= start || index === lastUser;
  return {
    older: messages.filter((_, index) => !isKept(index)),
    kept: messages.filter((_, index) => isKept(index)),
  };
}

/** Where the messages begin that stay: few enough, within half the budget, and never a result without its call. */
function tailStart(messages: readonly ModelMessage[], { keepMessages, tokens }: CompactionOptions): number {
  let start = messages.length;
  let size = 0;
  for (const [index, message] of [...messages.entries()].reverse()) {
    size += estimateTokens([message]);
    const isFull = messages.length - index > keepMessages || size > tokens / 2;
    if (isFull && start < messages.length) break;
    if (message.role !== 'tool') start = index;
  }
  return start;
}

/** The summary, or nothing when the model fails: compaction must not end a turn. */
async function summarise(
  older: ModelMessage[],
  { model }: CompactionOptions,
  signal?: AbortSignal,
): Promise<Compaction['call']> {
  const deadline = new Deadline({ signal, timeoutMs: summaryLimitMs });
  const input = transcriptOf(older);
  try {
    const { text, usage } = await generateText({
      model,
      instructions: order,
      prompt: input,
      abortSignal: deadline.signal,
      maxRetries: 0,
    });
    return text.trim() === '' ? undefined : { input, output: text.trim(), usage };
  } catch {
    return undefined;
  } finally {
    deadline.clear();
  }
}
