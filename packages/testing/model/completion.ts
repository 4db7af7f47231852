import { createHash } from 'node:crypto';
import type { ChatRequestBody, ScriptedAnswer, ScriptedToolCall } from './reply.ts';

export interface CompletionHead {
  id: string;
  created: number;
  model: string;
}

interface Delta {
  role?: string;
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: object[];
  images?: object[];
  annotations?: object[];
}

/** The answer as one JSON document, for requests without `stream`. */
export function completionBody(head: CompletionHead, request: ChatRequestBody, answer: ScriptedAnswer) {
  const toolCalls = answer.toolCalls?.map((call, index) => wholeToolCall(call, index));
  const message = {
    role: 'assistant',
    content: answer.text ?? null,
    ...(answer.reasoning ? { reasoning_content: answer.reasoning } : {}),
    ...(toolCalls ? { tool_calls: toolCalls } : {}),
    ...extrasOf(answer),
  };
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(answer) }],
    usage: usageOf(request, answer),
  };
}

/** The answer as the chunks of a stream: role, content, tool calls in fragments, finish, usage when asked for. */
export function completionChunks(head: CompletionHead, request: ChatRequestBody, answer: ScriptedAnswer) {
  const withUsage = request.stream_options?.include_usage === true;
  const chunk = (delta: Delta, reason: string | null = null) => deltaChunk(head, delta, reason, withUsage);
  const chunks = [
    chunk({ role: 'assistant', content: '' }),
    ...fragments(answer.reasoning ?? '').map((text) => chunk({ reasoning_content: text })),
    ...fragments(answer.text ?? '').map((text) => chunk({ content: text })),
    ...(answer.images || answer.citations ? [chunk(extrasOf(answer))] : []),
    ...(answer.toolCalls ?? []).flatMap((call, index) =>
      toolCallDeltas(call, index).map((delta) => chunk(delta)),
    ),
    chunk({}, finishReason(answer)),
  ];
  return withUsage ? [...chunks, usageChunk(head, request, answer)] : chunks;
}

/** As OpenRouter and LiteLLM send them. */
function extrasOf({ images, citations }: ScriptedAnswer): Pick<Delta, 'images' | 'annotations'> {
  return {
    ...(images && { images: images.map((url) => ({ type: 'image_url', image_url: { url } })) }),
    ...(citations && {
      annotations: citations.map((url_citation) => ({ type: 'url_citation', url_citation })),
    }),
  };
}

/** The opening chunks of a stream that will not come to its end. */
export function openingChunks(head: CompletionHead, text: string) {
  const content = fragments(text).map((part) => deltaChunk(head, { content: part }, null, false));
  return [deltaChunk(head, { role: 'assistant', content: '' }, null, false), ...content];
}

function deltaChunk(head: CompletionHead, delta: Delta, reason: string | null, withUsage: boolean) {
  return {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
    ...(withUsage ? { usage: null } : {}),
  };
}

function usageChunk(head: CompletionHead, request: ChatRequestBody, answer: ScriptedAnswer) {
  return { ...head, object: 'chat.completion.chunk', choices: [], usage: usageOf(request, answer) };
}

function toolCallDeltas(call: ScriptedToolCall, index: number): Delta[] {
  const { id, type, function: called } = wholeToolCall(call, index);
  const opening = { index, id, type, function: { name: called.name, arguments: '' } };
  const rest = fragments(called.arguments).map((part) => ({ index, function: { arguments: part } }));
  return [opening, ...rest].map((entry) => ({ tool_calls: [entry] }));
}

function wholeToolCall(call: ScriptedToolCall, index: number) {
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {});
  return {
    id: call.id ?? `call_${index + 1}`,
    type: 'function',
    function: { name: call.name, arguments: text },
  };
}

function finishReason(answer: ScriptedAnswer): string {
  return answer.finishReason ?? (answer.toolCalls?.length ? 'tool_calls' : 'stop');
}

function usageOf(request: ChatRequestBody, answer: ScriptedAnswer) {
  const said = `${answer.text ?? ''}${JSON.stringify(answer.toolCalls ?? '')}`;
  const input = answer.usage?.input ?? tokenEstimate(JSON.stringify(request.messages));
  const output = answer.usage?.output ?? tokenEstimate(said);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function tokenEstimate(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Pieces of about a token each; a character outside the basic plane is never torn apart. */
function fragments(text: string): string[] {
  return text.match(/.{1,5}/gsu) ?? [];
}

interface EmbeddingRequestBody {
  model: string;
  input: string | string[];
  dimensions?: number;
}

const defaultDimensions = 64;

/** Answers an embeddings request with vectors that depend on nothing but the text. */
export function embeddingBody(request: EmbeddingRequestBody) {
  const texts = [request.input].flat();
  const tokens = tokenEstimate(texts.join(''));
  return {
    object: 'list',
    model: request.model,
    data: texts.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: wordVector(text, request.dimensions ?? defaultDimensions),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Unit vector of a bag of hashed words: texts that share words lie close together. */
function wordVector(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    const digest = createHash('sha256').update(word).digest();
    const place = digest.readUInt32LE(0) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
