import type { EndEvent, ErrorEvent, PauseEvent, TurnEvent, Usage } from '@trunkline/loop';

/** What every chunk and the whole answer carry. */
export interface CompletionHead {
  id: string;
  created: number;
  model: string;
}

export function newHead(model: string): CompletionHead {
  return { id: `chatcmpl-${crypto.randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

/** The answer as one document. */
export function completionOf(head: CompletionHead, event: EndEvent | PauseEvent) {
  const calls = toolCalls(event);
  const message = {
    role: 'assistant',
    content: event.text === '' && calls.length > 0 ? null : event.text,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(event) }],
    usage: usageOf(event.usage),
  };
}

/** One event of the turn as chunks of a stream; none for what a caller does not see. */
export function chunksOf(head: CompletionHead, event: Exclude<TurnEvent, ErrorEvent>, withUsage: boolean) {
  switch (event.type) {
    case 'text-delta':
      return [chunk(head, { content: event.text })];
    case 'reasoning-delta':
      return [chunk(head, { reasoning_content: event.text })];
    case 'pause':
    case 'end':
      return lastChunks(head, event, withUsage);
    default:
      return [];
  }
}

export function openingChunk(head: CompletionHead) {
  return chunk(head, { role: 'assistant', content: '' });
}

function lastChunks(head: CompletionHead, event: EndEvent | PauseEvent, withUsage: boolean) {
  const calls = toolCalls(event).map((call, index) => chunk(head, { tool_calls: [{ index, ...call }] }));
  const usage = { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(event.usage) };
  return [...calls, chunk(head, {}, finishReason(event)), ...(withUsage ? [usage] : [])];
}

function chunk(head: CompletionHead, delta: object, finish: string | null = null) {
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  };
}

/** The calls that the caller has to answer: those that the turn waits for. */
function toolCalls(event: EndEvent | PauseEvent) {
  if (event.type === 'end') return [];
  return event.checkpoint.calls
    .filter(({ result }) => result === undefined)
    .map(({ toolCallId, name, input }) => ({
      id: toolCallId,
      type: 'function' as const,
      function: { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
    }));
}

function finishReason(event: EndEvent | PauseEvent): string {
  if (event.type === 'pause') return 'tool_calls';
  if (event.finishReason === 'content-filter') return 'content_filter';
  return ['length', 'steps', 'budget'].includes(event.finishReason) ? 'length' : 'stop';
}

function usageOf({ inputTokens, outputTokens, totalTokens }: Usage) {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens };
}
