import { contextWindowOf, listenForWaits, silenceLimitMs, toModelError } from '@trunkline/llm';
import { Deadline } from '@trunkline/std';
import { generateText, type LanguageModelUsage, type ModelMessage } from 'ai';
import { markOfDropped, noteDropped } from './known-addresses.ts';
import type { CompactionOptions } from './options.ts';
import { originsIn } from './taint.ts';
import { cutText, estimateTokens, promptBudget } from './usage.ts';

const longestPart = 2000;

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

/** Tokens that a summary may have however small the room is. */
const shortestSummary = 120;
/** Tokens that the model may write for a summary, thoughts included: so few that hardly an endpoint takes less. */
const [leastWritten, mostWritten] = [512, 4096];
/** A summary that takes longer is told of before it is there. */
const slowMs = 10_000;
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
  // The model may have written any of it after reading outside text, also where that text itself stays below.
  const mark = markOfDropped(older, originsIn(messages));
  const summary: ModelMessage = { role: 'user', content: `[${head}]`, ...mark };
  const result = [summary, ...kept];
  return {
    messages: result,
    removedMessages: older.length,
    summarised: call !== undefined,
    tokensBefore: estimateTokens(messages),
    tokensAfter: estimateTokens(result),
    call,
  };
}

const slowNote = {
  code: 'slow',
  waitMs: 0,
  message: "Summarising earlier messages to fit the model's context; this can take minutes",
} as const;

/** What the person is told whose older messages were compacted. */
export function compactionNote({ summarised }: Pick<Compaction, 'summarised'>): string {
  const done = summarised ? 'summarised' : 'left out';
  return `Earlier messages were ${done} to fit the model's context`;
}

function droppedNote(count: number): string {
  return `The ${count} oldest messages of this conversation were dropped to make room; they could not be summarised.`;
}

function split(messages: readonly ModelMessage[], options: CompactionOptions) {
  const start = tailStart(messages, options);
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  const isKept = (index: number) => index >= start || index === lastUser;
  // The summary stands before the words of the person, also of what came after them.
  const after = messages.slice(lastUser + 1, start);
  return {
    older: messages.filter((_, index) => !isKept(index)),
    kept: messages
      .map((message, index) => (index === lastUser ? noteDropped(message, after) : message))
      .filter((_, index) => isKept(index)),
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

/**
 * The summary, or nothing when the model fails: compaction must not end a turn. A model without a GPU takes minutes to
 * read what it has to summarise, so it has the time that its profile gives it.
 */
async function summarise(
  older: ModelMessage[],
  { model, tokens, window, onActivity, onWait }: CompactionOptions,
  signal?: AbortSignal,
): Promise<Compaction['call']> {
  const slow = setTimeout(() => onWait?.(slowNote), slowMs);
  const timeoutMs = silenceLimitMs(model, undefined);
  const deadline = new Deadline({ signal, timeoutMs });
  const awaitSilent = (silentMs: number) => {
    deadline.extend(silentMs);
    onActivity?.(silentMs + timeoutMs);
  };
  const transcript = older.flatMap(linesOf).join('\n\n');
  const room = Math.max(tokens / 4, shortestSummary);
  const maxOutputTokens = Math.ceil(Math.min(mostWritten, Math.max(leastWritten, room * 2)));
  const ask = async (most: number, limit?: { maxOutputTokens: number }): Promise<Compaction['call']> => {
    const input = cutText(transcript, most, () => '[Some of it is left out.]');
    awaitSilent(0);
    const asking = { model, instructions: order, prompt: input, abortSignal: deadline.signal, maxRetries: 0 };
    const { text, usage, finishReason } = await listenForWaits(
      (wait) => {
        awaitSilent(wait.waitMs);
        onWait?.(wait);
      },
      () => generateText({ ...asking, ...limit }),
    );
    const output = cutText(text.trim(), room, () => '[…]');
    if (output !== '') return { input, output, usage };
    // Its thoughts took all that it may write.
    return limit !== undefined && finishReason === 'length' ? ask(most) : undefined;
  };
  try {
    const unlimited = Number.POSITIVE_INFINITY;
    const taken = Math.min((await contextWindowOf(model, deadline.signal)) ?? unlimited, window ?? unlimited);
    const most = Math.min(promptBudget(taken) - estimateTokens(order), estimateTokens(transcript));
    return await ask(most, { maxOutputTokens }).catch((error: unknown) => {
      const { code } = toModelError(error);
      if (code === 'context-too-long') return ask(most / 2);
      if (code === 'bad-request') return ask(most);
      throw error;
    });
  } catch {
    return undefined;
  } finally {
    clearTimeout(slow);
    deadline.clear();
  }
}

type Part = Exclude<ModelMessage['content'], string>[number];

/** What was said or done in a message, each at most 2000 characters. */
function linesOf({ role, content }: ModelMessage): string[] {
  const speaker = role === 'user' ? 'User' : 'Assistant';
  if (typeof content === 'string') return [`${speaker}: ${shortened(content)}`];
  return content.map((part) => describe(part, speaker)).filter((line) => line !== '');
}

function describe(part: Part, speaker: string): string {
  switch (part.type) {
    case 'text':
      return `${speaker}: ${shortened(part.text)}`;
    case 'tool-call':
      return `Assistant called ${part.toolName} with ${shortened(JSON.stringify(part.input))}`;
    case 'tool-result':
      return `${part.toolName} returned: ${shortened(resultText(part.output))}`;
    case 'file':
    case 'image':
      return `${speaker} sent a file.`;
    default:
      return '';
  }
}

function resultText(output: Extract<Part, { type: 'tool-result' }>['output']): string {
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
}

function shortened(text: string): string {
  return text.length > longestPart ? `${text.slice(0, longestPart)}…` : text;
}
