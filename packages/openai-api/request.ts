import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { z } from 'zod';
import type { AnswerEvent } from './completion.ts';
import { openAiErrors } from './errors.ts';

/** A part of the content of a message. */
export const messagePart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.looseObject({ url: z.string() }).optional(),
  input_audio: z.looseObject({ data: z.string(), format: z.string() }).optional(),
  file: z
    .looseObject({
      file_data: z.string().optional(),
      file_url: z.string().optional(),
      filename: z.string().optional(),
      file_id: z.string().optional(),
    })
    .optional(),
});

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), z.array(messagePart), z.null()]).optional(),
    tool_calls: z.array(toolCall).nullish(),
    tool_call_id: z.string().optional(),
  })
  .refine(({ role, content }) => role === 'assistant' || (content !== undefined && content !== null), {
    path: ['content'],
    error: 'send text or an array of parts; only an assistant message may have none',
  });

const tool = z.looseObject({
  type: z
    .literal('function', 'only tools of type "function" are taken here; /v1/responses takes custom ones')
    .optional(),
  function: z.looseObject({
    name: z.string().regex(/^[\w.-]{1,128}$/, 'at most 128 letters, digits, _, - and .'),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** More than any model takes. */
export const mostTools = 1024;

/** The body of a chat completion request; fields that OpenAI's API does not have are ignored. */
export const completionRequest = z.looseObject({
  model: z.string().default(''),
  messages: z.array(message).min(1, 'needs at least one message'),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).max(mostTools, `at most ${mostTools} tools`).nullish(),
  tool_choice: z
    .union(
      [
        z.enum(['none', 'auto', 'required']),
        z.looseObject({ function: z.looseObject({ name: z.string() }) }),
      ],
      'name a function, or choose none, auto or required; /v1/responses takes allowed_tools',
    )
    .nullish(),
  response_format: z
    .looseObject({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: z
        .looseObject({ name: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() })
        .optional(),
    })
    .refine(({ type, json_schema }) => type !== 'json_schema' || json_schema?.schema !== undefined, {
      path: ['json_schema', 'schema'],
      error: 'say which one',
    })
    .nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  reasoning_effort: z.string().nullish(),
  verbosity: z.string().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  n: z.literal(1, 'only one choice is made at a time').nullish(),
  user: z.string().nullish(),
});

export type CompletionRequest = z.output<typeof completionRequest>;
export type RequestMessage = CompletionRequest['messages'][number];

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image'; mediaType: string; base64: string }
  /** By its address: of what a caller names, only a service with a guarded fetch reads anything. */
  | { type: 'image' | 'file'; url: string }
  | { type: 'audio' | 'file'; mediaType: string; base64: string; name: string };

/** The system and developer messages, joined. */
export function systemText({ messages }: CompletionRequest): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The text of a message, without its images and files. */
export function textOf(entry: RequestMessage): string {
  return contentParts(entry)
    .flatMap((each) => (each.type === 'text' ? [each.text] : []))
    .join('\n');
}

export function contentParts({ content }: RequestMessage): ContentPart[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((given): ContentPart => {
    if (given.type === 'text') return { type: 'text', text: given.text ?? '' };
    if (given.type === 'refusal') return { type: 'text', text: String(given.refusal ?? '') };
    if (given.type === 'image_url') return imagePart(given.image_url?.url ?? '');
    if (given.type === 'input_audio' && given.input_audio !== undefined) return audioPart(given.input_audio);
    if (given.type === 'file' && given.file !== undefined) return filePart(given.file);
    throw refuse(`content of type "${given.type}" is not supported`);
  });
}

/** Refuses a request whose content this service cannot answer, before any work is done. */
export function checkContent(
  { messages }: CompletionRequest,
  { images, files = false }: { images: boolean; files?: boolean | undefined },
): void {
  const names = { image: 'image_url', audio: 'input_audio', file: 'file' };
  for (const { type } of messages.flatMap(contentParts))
    if (type !== 'text' && !(type === 'image' ? images : files))
      throw refuse(`content of type "${names[type]}" is not supported here: send text`);
}

const dataUrl = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)$/;

function isAddress(url: string): boolean {
  return /^https?:/i.test(url) && URL.canParse(url);
}

function imagePart(url: string): ContentPart {
  if (isAddress(url)) return { type: 'image', url };
  const [, mediaType, base64] = dataUrl.exec(url) ?? [];
  if (mediaType === undefined || base64 === undefined)
    throw refuse('image_url must be an http(s) address, or inline: data:image/<type>;base64,<data>');
  return { type: 'image', mediaType, base64 };
}

function audioPart({ data, format }: { data: string; format: string }): ContentPart {
  const type = format.toLowerCase() === 'mp3' ? 'mpeg' : format.toLowerCase();
  if (!/^[a-z0-9-]{1,20}$/.test(type))
    throw refuse('input_audio.format must be the name of one, such as wav');
  return { type: 'audio', mediaType: `audio/${type}`, base64: data, name: `audio.${format.toLowerCase()}` };
}

interface GivenFile {
  file_data?: string | undefined;
  file_url?: string | undefined;
  filename?: string | undefined;
  file_id?: string | undefined;
}

/** The content itself, as a data URL or as bare base64, or where it is; there is no store of files to refer to. */
function filePart({ file_data, file_url, filename, file_id }: GivenFile): ContentPart {
  if (file_data === undefined && file_url !== undefined) {
    if (!isAddress(file_url)) throw refuse('file_url must be an http(s) address');
    return { type: 'file', url: file_url };
  }
  if (file_data === undefined)
    throw refuse(
      `file.file_data is missing${file_id === undefined ? '' : ' (file_id is not supported)'}: send data:<type>;base64,<data>, or an address as file_url`,
    );
  const [, mediaType = '', parameters = '', inner] =
    /^data:([\w.+/-]*)((?:;[^,;]*)*),(.*)$/s.exec(file_data) ?? [];
  const isText = inner !== undefined && !/;base64$/i.test(parameters);
  const base64 = isText ? Buffer.from(unescaped(inner)).toString('base64') : (inner ?? file_data);
  return { type: 'file', mediaType, base64, name: filename ?? 'file' };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse('file.file_data has a % that is no escape: send data:<type>;base64,<data>');
  }
}

function refuse(message: string) {
  return openAiErrors.invalid_request_error({ message });
}

/** What a request asks of each call of the model: sampling, length, effort and the form of the answer. */
export function callSettings(request: CompletionRequest): Partial<LanguageModelV4CallOptions> {
  const { temperature, top_p, seed, stop, frequency_penalty, presence_penalty } = request;
  const maxOutputTokens = request.max_completion_tokens ?? request.max_tokens;
  const responseFormat = responseFormatOf(request);
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof seed === 'number' && { seed }),
    ...(typeof maxOutputTokens === 'number' && { maxOutputTokens }),
    ...(typeof frequency_penalty === 'number' && { frequencyPenalty: frequency_penalty }),
    ...(typeof presence_penalty === 'number' && { presencePenalty: presence_penalty }),
    ...(stop && { stopSequences: typeof stop === 'string' ? [stop] : stop }),
    ...(responseFormat && { responseFormat }),
    providerOptions: { gateway: rawSettingsOf(request) },
  };
}

/** Settings that the SDK has no word for; the gateway passes them on as they are. */
function rawSettingsOf({ logit_bias, reasoning_effort, verbosity, parallel_tool_calls }: CompletionRequest) {
  return {
    ...(logit_bias && { logit_bias }),
    ...(reasoning_effort && { reasoning_effort }),
    ...(verbosity && { verbosity }),
    ...(typeof parallel_tool_calls === 'boolean' && { parallel_tool_calls }),
  };
}

function responseFormatOf({
  response_format,
}: CompletionRequest): LanguageModelV4CallOptions['responseFormat'] {
  if (!response_format || response_format.type === 'text') return undefined;
  const { name, schema } = response_format.json_schema ?? {};
  return { type: 'json', ...(schema && { schema }), ...(name && { name }) };
}

/** What the model's endpoint refused of a request, each once, for the caller. */
export class RefusedParameters {
  readonly #request: CompletionRequest;
  readonly #seen = new Set<string>();
  #waiting: string[] = [];

  constructor(request: CompletionRequest) {
    this.#request = request;
  }

  /** Takes names of the wire; those that the caller did not set concern nobody. */
  note(names: readonly string[]): void {
    for (const sent of names) {
      const name = this.#asSet(sent);
      if (name === undefined || this.#seen.has(name)) continue;
      this.#seen.add(name);
      this.#waiting.push(name);
    }
  }

  /** An event for those that were not told yet. */
  take(): AnswerEvent[] {
    const names = this.#waiting;
    this.#waiting = [];
    return names.length === 0 ? [] : [{ type: 'ignored-parameters', names }];
  }

  /** The length of an answer has two names. */
  #asSet(name: string): string | undefined {
    const names = name.startsWith('max_') ? ['max_completion_tokens', 'max_tokens'] : [name];
    return names.find((each) => this.#request[each] !== undefined && this.#request[each] !== null);
  }
}
