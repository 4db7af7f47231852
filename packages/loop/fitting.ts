import { ModelError } from '@trunkline/llm';
import { compact } from './compaction.ts';
import type { CompactionEvent } from './options.ts';
import { bookUsage, type Turn } from './turn-state.ts';
import { estimateTokens } from './usage.ts';

/** Compacts the conversation when it has outgrown its budget. */
export async function* fitConversation({ state, options, signal }: Turn): AsyncGenerator<CompactionEvent> {
  const { compaction, instructions } = options;
  if (
    compaction === undefined ||
    estimateTokens(instructions) + estimateTokens(state.messages) <= compaction.tokens
  )
    return;
  const compacted = await compact(state.messages, compaction, signal);
  if (signal.aborted) throw new ModelError('aborted');
  if (compacted === undefined) return;
  const { messages, call, ...facts } = compacted;
  state.messages = messages;
  if (call) {
    const { usage: reported, input, output } = call;
    bookUsage({ models: [compaction.model.modelId], reported, input, output }, state, options);
  }
  yield { type: 'compaction', ...facts };
}
