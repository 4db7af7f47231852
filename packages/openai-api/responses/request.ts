import { z } from 'zod';
import { openAiErrors } from '../errors.ts';
import { type CompletionRequest, mostTools, type RequestMessage } from '../request.ts';
import { contentPart, inputItem } from './items.ts';
import { asFunctions, checkTools, chosenFunction, countTools, requestTool, toolChoice } from './tools.ts';

const mostPairs = 16;
export const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= mostPairs, `at most ${mostPairs} pairs`);

/** The body of `POST /v1/responses`; fields that OpenAI's API does not have are ignored. */
export const responseRequest = z.looseObject({
  model: z.string().default(''),
  input: z.union([z.string(), z.array(inputItem)]),
  instructions: z.union([z.string(), z.array(contentPart)]).nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  metadata: metadata.nullish(),
  tools: z.array(requestTool).nullish(),
  tool_choice: toolChoice.nullish(),
  text: z
    .looseObject({
      format: z
        .looseObject({
          type: z.string(),
          name: z.string().optional(),
          schema: z.record(z.string(), z.unknown()).optional(),
        })
        .nullish(),
      verbosity: z.string().nullish(),
    })
    .nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
  max_output_tokens: z.int().positive().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  include: z.array(z.string()).nullish(),
  service_tier: z.string().nullish(),
  user: z.string().nullish(),
});

export type ResponseRequest = z.output<typeof responseRequest>;

/** Parameters that nothing here does anything for; set to what is usual they ask for nothing. */
const neverTaken: Record<string, readonly unknown[]> = {
  prompt: [],
  max_tool_calls: [],
  top_logprobs: [0],
  context_management: [],
  moderation: [],
  image: [],
  access_programs: [],
  service_tier: ['auto', 'default'],
};

/** Clients send these unasked: nothing here encrypts thoughts, and no search is one of the caller's. */
const emptyIncludes = /^(reasoning\.encrypted_content|web_search_call\..+)$/;

/** Refuses by name what cannot be done; gives the parameters that have no effect. */
export function checkParameters(request: ResponseRequest): string[] {
  for (const [name, usual] of Object.entries(neverTaken)) {
    const value = request[name];
    if (value !== undefined && value !== null && !usual.includes(value)) throw unsupported(name);
  }
  const { refused, ignored: hosted } = checkTools(request.tools);
  if (refused !== undefined)
    throw unsupported(
      `${refused.place} of type "${refused.type}"`,
      'tools of type "function", "custom" and "namespace", with names, are',
    );
  if (countTools(request.tools) > mostTools)
    throw refuse(`a request may bring at most ${mostTools} tools: leave some out`, 'tools');
  const { tool_choice: choice, background, store } = request;
  if (chosenFunction(choice, request.tools) === undefined)
    throw unsupported('tool_choice', 'name a function or custom tool, or choose none, auto or required;');
  if (background && store === false)
    throw refuse('background needs store: leave store out, or set it to true', 'background');
  const conversation = conversationOf(request);
  if (conversation !== undefined && request.previous_response_id)
    throw refuse('conversation and previous_response_id exclude each other: name one', 'conversation');
  if (conversation !== undefined && store === false)
    throw refuse('conversation needs store: leave store out, or set it to true', 'conversation');
  const include = (request.include ?? []).find((each) => !emptyIncludes.test(each));
  if (include !== undefined) throw unsupported(`include "${include}"`);
  const ignored = ['prompt_cache_key', 'safety_identifier'].filter((name) => request[name]);
  return [...ignored, ...hosted, ...(request.include?.length ? ['include'] : [])];
}

/** The id of the conversation that a request belongs to. */
export function conversationOf({
  conversation,
}: Partial<Pick<ResponseRequest, 'conversation'>>): string | undefined {
  return (typeof conversation === 'string' ? conversation : conversation?.id) || undefined;
}

function unsupported(name: string, instead = '') {
  const param = name.split(/[ [.]/)[0] ?? name;
  return refuse(`${name} is not supported here${instead && `: ${instead} supported`}. Leave it out.`, param);
}

export function refuse(message: string, param: string) {
  return openAiErrors.invalid_request_error({ message }, { details: { param } });
}

/** Names of this API for parameters of chat completions. */
const names: Record<string, string> = {
  max_completion_tokens: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
  response_format: 'text.format',
};

export function nameOf(parameter: string): string {
  return names[parameter] ?? parameter;
}

/** The same request as one for a chat completion, which every service answers. */
export function toCompletionRequest(
  request: ResponseRequest,
  conversation: readonly RequestMessage[],
): CompletionRequest {
  const { model, text, tools, tool_choice: choice, temperature, top_p, parallel_tool_calls, user } = request;
  const instructions = instructionText(request);
  return {
    model,
    messages: [
      ...(instructions === '' ? [] : [{ role: 'system' as const, content: instructions }]),
      ...conversation,
    ],
    tools: asFunctions(tools, choice),
    tool_choice: chosenFunction(choice, tools)?.choice,
    response_format: responseFormat(text?.format),
    max_completion_tokens: request.max_output_tokens,
    reasoning_effort: request.reasoning?.effort,
    verbosity: text?.verbosity,
    ...{ temperature, top_p, parallel_tool_calls, user },
  };
}

function instructionText({ instructions }: Pick<ResponseRequest, 'instructions'>): string {
  if (!instructions) return '';
  if (typeof instructions === 'string') return instructions;
  return instructions.map(({ text = '' }) => text).join('\n');
}

type Format = NonNullable<ResponseRequest['text']>['format'];

function responseFormat(format: Format): CompletionRequest['response_format'] {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  if (format.type !== 'json_schema')
    throw unsupported(`text.format "${format.type}"`, 'text, json_object and json_schema are');
  const { name, schema } = format;
  return { type: 'json_schema', json_schema: { ...(name && { name }), ...(schema && { schema }) } };
}

/** Around the words of each message. */
const tokensPerMessage = 4;
/** Models count a picture by its size in pixels, which nobody knows here. */
const tokensPerImage = 1000;
/** Of sound and files, whose text is not read to count it. */
const bytesPerToken = 4;

interface Counted extends Pick<ResponseRequest, 'instructions' | 'tools'> {
  messages: readonly RequestMessage[];
}

/** An estimate of what a request says itself; the service adds its own instructions and tools. */
export function inputTokens(
  { messages, tools, instructions }: Counted,
  count: (text: string) => number,
): number {
  const said = messages.map(({ content, tool_calls: calls }) => {
    const parts = Array.isArray(content) ? content : [{ type: 'text', text: content ?? '' }];
    const words = parts.reduce((sum, part) => sum + partTokens(part, count), 0);
    return tokensPerMessage + words + (calls === undefined ? 0 : count(JSON.stringify(calls)));
  });
  const order = instructionText({ instructions });
  const offered = (tools ?? []).map((tool) => count(JSON.stringify(tool)));
  const all = [...said, ...offered, order === '' ? 0 : tokensPerMessage + count(order)];
  return all.reduce((sum, tokens) => sum + tokens, 0);
}

function partTokens(part: object, count: (text: string) => number): number {
  const { type, text } = part as { type: string; text?: string };
  if (text !== undefined) return count(text);
  return type === 'image_url' ? tokensPerImage : Math.ceil(JSON.stringify(part).length / bytesPerToken);
}
