import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { ModelError } from '../model-error.ts';

/** Under this name the parts of an answer carry what the endpoint wants to see again. */
export const providerName = 'gateway';

type WireMessage = Record<string, unknown>;
type WirePart = Record<string, unknown>;
type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

/** The prompt as the messages of a chat completion request. */
export function wireMessages(prompt: LanguageModelV4Prompt): WireMessage[] {
  const lastUser = prompt.findLastIndex(({ role }) => role === 'user');
  return prompt.flatMap((message, index) => {
    if (message.role === 'system') return [{ role: 'system', content: message.content }];
    if (message.role === 'user') return [{ role: 'user', content: userContent(message.content) }];
    if (message.role === 'tool') return toolMessages(message);
    return assistantMessages(message, index > lastUser);
  });
}

function userContent(content: (LanguageModelV4TextPart | LanguageModelV4FilePart)[]): string | WirePart[] {
  const [first] = content;
  if (content.length === 1 && first?.type === 'text') return first.text;
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : filePart(part)));
}

/**
 * Thoughts go back only in the turn that they belong to and beside the calls that they led to, in the field in which
 * they came: reasoning models want them there (DeepSeek, Kimi, OpenRouter), and others refuse or bill them. Pictures that
 * a model made follow as a message of the user, as those of tools do.
 */
function assistantMessages({ content }: AssistantMessage, isThisTurn: boolean): WireMessage[] {
  let text = '';
  const images: WirePart[] = [];
  const thoughts: WireMessage = {};
  const calls: WireMessage[] = [];
  for (const part of content) {
    if (part.type === 'text') text += part.text;
    if (part.type === 'file' && part.mediaType.startsWith('image')) images.push(filePart(part));
    const {
      reasoningField,
      thoughtSignature: signature,
      ...details
    } = part.providerOptions?.[providerName] ?? {};
    if (part.type === 'reasoning' && typeof reasoningField === 'string')
      thoughts[reasoningField] = `${thoughts[reasoningField] ?? ''}${part.text}`;
    if (part.type === 'tool-call') {
      Object.assign(thoughts, details);
      calls.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: argumentsText(part.input) },
        ...(typeof signature === 'string' && { extra_content: { google: { thought_signature: signature } } }),
      });
    }
  }
  if (calls.length > 0)
    return [{ role: 'assistant', content: text || null, ...(isThisTurn && thoughts), tool_calls: calls }];
  if (images.length === 0) return [{ role: 'assistant', content: text }];
  return [
    { role: 'assistant', content: text || '[A picture]' },
    { role: 'user', content: [{ type: 'text', text: 'The picture that you made:' }, ...images] },
  ];
}

function argumentsText(input: unknown): string {
  if (typeof input !== 'string') return JSON.stringify(input ?? {});
  try {
    JSON.parse(input);
    return input;
  } catch {
    return JSON.stringify(input);
  }
}

/** The results of tools; images among them follow as a message of the user, the only place where endpoints take them. */
function toolMessages({ content }: ToolMessage): WireMessage[] {
  const images: WirePart[] = [];
  const results = content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    return [{ role: 'tool', tool_call_id: part.toolCallId, content: resultText(part.output, images) }];
  });
  if (images.length === 0) return results;
  return [
    ...results,
    { role: 'user', content: [{ type: 'text', text: 'Files from the tools:' }, ...images] },
  ];
}

function resultText(output: LanguageModelV4ToolResultOutput, images: WirePart[]): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value;
  if (output.type === 'execution-denied') return output.reason ?? 'The tool call was refused.';
  if (output.type !== 'content') return JSON.stringify(output.value);
  return output.value
    .map((part) => {
      if (part.type === 'text') return part.text;
      if (part.type !== 'file') return '';
      images.push(filePart(part));
      return `[${part.filename ?? part.mediaType}]`;
    })
    .filter((text) => text !== '')
    .join('\n');
}

type FileContent = Pick<LanguageModelV4FilePart, 'data' | 'mediaType' | 'filename'>;

function filePart({ data, mediaType, filename }: FileContent): WirePart {
  if (data.type === 'text') return { type: 'text', text: data.text };
  if (data.type === 'reference')
    return {
      type: 'file',
      file: { file_id: data.reference[providerName] ?? Object.values(data.reference)[0] },
    };
  const kind = mediaType.split('/')[0] ?? '';
  if (data.type === 'url') {
    const url = data.url.toString();
    if (kind === 'image') return { type: 'image_url', image_url: { url } };
    if (kind === 'video') return { type: 'video_url', video_url: { url } };
    throw unsendable(`${mediaType} by its address`);
  }
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64');
  if (kind === 'text') return { type: 'text', text: Buffer.from(base64, 'base64').toString() };
  const url = `data:${fullMediaType(mediaType, base64)};base64,${base64}`;
  if (kind === 'image') return { type: 'image_url', image_url: { url } };
  if (kind === 'video') return { type: 'video_url', video_url: { url } };
  if (kind === 'audio')
    return { type: 'input_audio', input_audio: { data: base64, format: audioFormat(mediaType) } };
  if (mediaType !== 'application/pdf') throw unsendable(mediaType);
  return { type: 'file', file: { filename: filename ?? 'document.pdf', file_data: url } };
}

/** A bare `image` or `image/*` is told by how the base64 of such files begins. */
function fullMediaType(mediaType: string, base64: string): string {
  if (mediaType.includes('/') && !mediaType.endsWith('/*')) return mediaType;
  const beginnings = { '/9j/': 'image/jpeg', iVBOR: 'image/png', R0lGOD: 'image/gif', UklGR: 'image/webp' };
  const known = Object.entries(beginnings).find(([beginning]) => base64.startsWith(beginning));
  return known?.[1] ?? 'image/png';
}

function audioFormat(mediaType: string): string {
  if (/mp3|mpeg/.test(mediaType)) return 'mp3';
  if (/wav/.test(mediaType)) return 'wav';
  throw unsendable(mediaType);
}

function unsendable(what: string): ModelError {
  return new ModelError('bad-request', { detail: `a file of type ${what} cannot be sent to a model` });
}
