import { z } from 'zod';
import { openAiErrors } from './errors.ts';

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  image_url: z.looseObject({ url: z.string() }).optional(),
});

const toolCall = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
  tool_calls: z.array(toolCall).nullish(),
  tool_call_id: z.string().optional(),
});

const tool = z.looseObject({
  function: z.looseObject({
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});

/** The body of a chat completion request; fields that OpenAI's API does not have are ignored. */
export const completionRequest = z.looseObject({
  model: z.string().default(''),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ function: z.looseObject({ name: z.string() }) }),
    ])
    .nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({ name: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() })
        .optional(),
    })
    .nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
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
  | { type: 'image'; mediaType: string; base64: string };

/** The system and developer messages, joined. */
export function systemText({ messages }: CompletionRequest): string {
  return messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The text of a message, without its images. */
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
    throw refuse(`content of type "${given.type}" is not supported`);
  });
}

/** Refuses a request whose content this service cannot answer, before any work is done. */
export function checkContent({ messages }: CompletionRequest, supported: { images: boolean }): void {
  const parts = messages.flatMap(contentParts);
  if (!supported.images && parts.some(({ type }) => type === 'image'))
    throw refuse('content of type "image_url" is not supported here: send text');
}

const dataUrl = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)$/;

/** Only inline images: fetching an address that a caller names would reach into the private network. */
function imagePart(url: string): ContentPart {
  const [, mediaType, base64] = dataUrl.exec(url) ?? [];
  if (mediaType === undefined || base64 === undefined)
    throw refuse('image_url must be inline: data:image/<type>;base64,<data>');
  return { type: 'image', mediaType, base64 };
}

function refuse(message: string) {
  return openAiErrors.invalid_request_error({ message });
}
