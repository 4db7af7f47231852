import {
  answerLimitOf,
  contextWindowOf,
  learnContextWindow,
  ModelError,
  type ModelWait,
  originOf,
} from '@trunkline/llm';
import { BoundedMap } from '@trunkline/std';
import type { ModelMessage } from 'ai';
import { compact } from './compaction.ts';
import { WaitQueue } from './model-step.ts';
import type { CompactionEvent, WaitEvent } from './options.ts';
import { bookUsage, promptOf, type Turn } from './turn-state.ts';
import { cutText, estimateTokens, promptBudget } from './usage.ts';

/** One result of a tool may take this share of what the prompt may take. */
const resultShare = 1 / 3;
/** Beyond this an estimate cannot be wrong any more: the endpoint need not be asked. */
const surelyTooLong = 1.3;
/** Compacting has to win at least this much to be worth another call. */
const leastGain = 0.97;
const keepMessages = 12;
/** Some servers cut a longer conversation without a word, so that their window is waited for, so long at most. */
const surelyTaken = 1024;
const windowWaitMs = 2000;

/** By endpoint and model: how many tokens it counts where we estimate one. */
const scales = new BoundedMap<string, number>(200);

/** Fits the next step into the model's window, and the conversation into its configured size. */
export async function* fitStep(turn: Turn): AsyncGenerator<CompactionEvent | WaitEvent> {
  const { state, options, signal } = turn;
  const { compaction, instructions } = options;
  const own = estimateTokens(instructions) + estimateTokens(state.messages);
  const waitMs = own > surelyTaken ? windowWaitMs : undefined;
  const window = await contextWindowOf(options.model, signal, waitMs);
  turn.window = turn.shrunk === undefined ? window : Math.min(window ?? turn.shrunk, turn.shrunk);
  offer(turn);
  if (compaction !== undefined && own > compaction.tokens)
    yield* compactTo(turn, compaction.tokens, compaction.keepMessages);
  yield* fitWindow(turn);
}

/**
 * After an endpoint has refused a prompt as too long: learns the window where the error names it, else takes a smaller
 * one for the rest of the turn (our estimate may be far off, so it is never learned), and fits the step into that. Throws
 * words for the user when there is nothing to leave out.
 */
export async function* fitAfterOverflow(
  turn: Turn,
  error: ModelError,
): AsyncGenerator<CompactionEvent | WaitEvent> {
  const { options } = turn;
  const before = sizeOf(turn);
  const named = error.contextTokens;
  if (named !== undefined) learnContextWindow(options.model, named);
  const known = named ?? turn.window;
  // Where the prompt should have fitted, the estimate was too low, so the window counts as smaller than it is.
  const isOff = known === undefined || before <= promptBudget(known, answerLimitOf(options.model));
  turn.shrunk = isOff ? Math.floor(before * 0.6) : known;
  turn.window = turn.shrunk;
  offer(turn);
  yield* fitWindow(turn);
  if (sizeOf(turn) > before * leastGain) throw isOff && known !== undefined ? error : tooLarge(turn, known);
}

/** Learns from what the endpoint counted how far the estimates are off. */
export function calibrate(turn: Turn, reported: number | undefined): void {
  if (turn.window === undefined || !reported) return;
  const estimated = estimatePrompt(turn);
  if (estimated >= 400) scales.set(scaleKey(turn), Math.min(2, Math.max(0.8, reported / estimated)));
}

function scaleKey({ options: { model } }: Turn): string {
  return `${originOf(model)?.endpoint.baseUrl ?? model.provider} ${model.modelId}`;
}

function offer(turn: Turn): void {
  turn.offered = turn.offer.within(turn.window, turn.state.messages);
  const { finder } = turn.offered;
  if (finder !== undefined) turn.deps.tools.set(finder.name, finder as never);
}

/** About what the endpoint counts for the prompt as it stands. */
function sizeOf(turn: Turn): number {
  return (scales.get(scaleKey(turn)) ?? 1) * estimatePrompt(turn);
}

function estimatePrompt(turn: Turn): number {
  const { instructions, messages } = promptOf(turn);
  return estimateTokens(instructions) + estimateTokens(messages) + turn.offered.tokens();
}

async function* fitWindow(turn: Turn): AsyncGenerator<CompactionEvent | WaitEvent> {
  const { window, state, options } = turn;
  if (window === undefined) return;
  const budget = promptBudget(window, answerLimitOf(options.model));
  const scale = scales.get(scaleKey(turn)) ?? 1;
  state.messages = cutResults(state.messages, (budget * resultShare) / scale, window);
  if (sizeOf(turn) <= budget) return;
  turn.instructions = cutText(options.instructions, budget / 2 / scale, instructionsCut);
  const fixed = () => estimatePrompt(turn) - estimateTokens(state.messages);
  const room = Math.max(0, budget / scale - fixed());
  if (sizeOf(turn) > budget) yield* compactTo(turn, room, options.compaction?.keepMessages ?? keepMessages);
  if (sizeOf(turn) > budget) {
    state.messages = cutResults(state.messages, room / 4, window);
    yield* compactTo(turn, room / 2, 1);
  }
  if (sizeOf(turn) > window * surelyTooLong) throw tooLarge(turn, window);
}

/** Puts older messages into a summary, so that what stays takes about half of the tokens. */
async function* compactTo(
  turn: Turn,
  tokens: number,
  keep: number,
): AsyncGenerator<CompactionEvent | WaitEvent> {
  const { state, options, signal } = turn;
  const { model } = options.compaction ?? options;
  const { window } = turn;
  const { onActivity } = options;
  const waits = new WaitQueue();
  const onWait = (wait: ModelWait) => waits.push(wait);
  const compacted = yield* waits.until(
    compact(state.messages, { model, tokens, keepMessages: keep, window, onActivity, onWait }, signal),
  );
  if (signal.aborted) throw new ModelError('aborted');
  if (compacted === undefined) return;
  const { messages, call, ...facts } = compacted;
  state.messages = messages;
  if (call) {
    const { usage: reported, input, output } = call;
    bookUsage({ models: [model.modelId], reported, input, output }, state, options);
  }
  yield { type: 'compaction', ...facts };
}

function tooLarge(turn: Turn, window: number | undefined): ModelError {
  const { modelId } = turn.options.model;
  const count = (tokens: number) => Math.round(tokens).toLocaleString('en');
  const takes =
    window === undefined ? `${modelId} takes less` : `${modelId} takes ${count(window)} with the answer`;
  return new ModelError('context-too-long', {
    detail: `instructions, tools and the last message are about ${count(sizeOf(turn))} tokens, and ${takes}. Send less at once, or serve the model with a larger context (num_ctx at Ollama) and set LLM_CONTEXT_TOKENS to it`,
  });
}

const instructionsCut = () => '[…]';

/** The conversation with every result of a tool cut to a size. */
function cutResults(messages: ModelMessage[], tokens: number, window: number): ModelMessage[] {
  const note = (left: number) =>
    `[About ${left} tokens of this result were cut here: it is too long for the model's context of ${window}. Ask for a smaller part of it.]`;
  return messages.map((message) => {
    if (message.role !== 'tool') return message;
    const content = message.content.map((part) => {
      if (part.type !== 'tool-result' || part.output.type !== 'text') return part;
      const value = cutText(part.output.value, tokens / message.content.length, note);
      return value === part.output.value ? part : { ...part, output: { ...part.output, value } };
    });
    return content.every((part, index) => part === message.content[index])
      ? message
      : { ...message, content };
  });
}
