import { z } from 'zod';
import { openAiErrors } from '../errors.ts';
import { messagePart, type RequestMessage } from '../request.ts';
import { functionName, requestTool } from './tools.ts';

export const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() });
type Part = z.output<typeof contentPart>;

/** An item of `input`: a message, a call of a function or custom tool, its output, thoughts, or a reference to an earlier item. */
export const inputItem = z.looseObject({
  type: z.string().nullish(),
  id: z.string().nullish(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).optional(),
  content: z.union([z.string(), z.array(contentPart)]).nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  /** Of a custom tool. */
  input: z.string().optional(),
  output: z.union([z.string(), z.array(contentPart)]).nullish(),
  /** Of `additional_tools`. */
  tools: z.array(requestTool).nullish(),
});
type InputItem = z.output<typeof inputItem>;

/** An item as it is kept and shown, of the input or of the output. */
export type Item = InputItem & { type: string; id: string };

const prefixes: Record<string, string> = {
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
  image_generation_call: 'ig',
  compaction: 'cmp',
};

/** Ids of items name their response, so that a reference to one finds it. */
export function itemId(type: string, responseId: string, index: number): string {
  return `${prefixes[type] ?? 'msg'}_${responseId.replace(/^resp_/, '')}_${index}`;
}

export function responseOfItem(id: string): string | undefined {
  const [, response] = /^[a-z]+_([0-9a-f]{32})_[0-9i]+$/.exec(id) ?? [];
  return response && `resp_${response}`;
}

/** The input with every item whole. `find` gives the items that a reference may name. */
export function readInput(
  input: string | readonly InputItem[],
  responseId: string,
  find: (id: string) => readonly Item[],
): Item[] {
  const given = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input;
  return given.map((item, index) => {
    // A picture may come back by its id alone.
    const isPictureId = item.type === 'image_generation_call' && typeof item.result !== 'string';
    if (item.type === 'item_reference' || isPictureId) return referenced(item.id ?? '', index, find);
    const type = item.type ?? 'message';
    const whole = {
      ...item,
      type,
      id: item.id || itemId(type, responseId, index).replace(/_(\d+)$/, '_i$1'),
    };
    if (type !== 'message') return whole;
    const { content } = item;
    const textType = item.role === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof content === 'string' ? [{ type: textType, text: content }] : (content ?? []);
    return { status: 'completed', ...whole, content: parts };
  });
}

function referenced(id: string, index: number, find: (id: string) => readonly Item[]): Item {
  const [item, another] = find(id);
  if (another !== undefined)
    throw refuse(`input[${index}]: several conversations have an item "${id}"; send the item itself`);
  if (item !== undefined) return item;
  throw refuse(
    `input[${index}]: there is no item "${id}" in a response that is kept here; send the item itself`,
  );
}

/**
 * The conversation that items tell, as messages of a chat completion. Thoughts do not go back to a model. `open` reads the
 * summary of a compaction.
 */
export function toMessages(
  items: readonly Item[],
  open: (sealed: string) => { text: string; outside: boolean } | undefined,
): RequestMessage[] {
  const messages: RequestMessage[] = [];
  for (const item of items) {
    const last = messages.at(-1);
    if (item.type === 'message') messages.push(messageOf(item));
    else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      const call = callOf(item);
      if (last?.role !== 'assistant')
        messages.push({ role: 'assistant', content: null, tool_calls: [call], ...markOf(item) });
      else {
        last.tool_calls ??= [];
        last.tool_calls.push(call);
        Object.assign(last, markOf(item));
      }
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output')
      messages.push(resultOf(item));
    else if (item.type === 'image_generation_call') messages.push(pictureOf(item));
    else if (item.type === 'compaction') messages.push(summaryOf(item, open));
    else if (!toldElsewhere.has(item.type))
      throw refuse(`input items of type "${item.type}" are not supported`);
  }
  return messages;
}

/** Thoughts, tools, and searches of another service's, whose answer says what they found. */
const toldElsewhere = new Set(['reasoning', 'additional_tools', 'web_search_call']);

/** Models take pictures from the user alone. */
function pictureOf({ result, output_format: format }: Item): RequestMessage {
  if (typeof result !== 'string') throw refuse('an image_generation_call needs result with the picture');
  const url = `data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`;
  const text = 'The picture that you made:';
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url } },
    ],
  };
}

function summaryOf(item: Item, open: Parameters<typeof toMessages>[1]): RequestMessage {
  const { encrypted_content: sealed } = item;
  const summary = typeof sealed === 'string' ? open(sealed) : undefined;
  if (summary === undefined)
    throw refuse('a compaction was not made here, or for somebody else: send the conversation itself');
  const content = `Summary of the conversation so far:\n${summary.text}`;
  return { role: 'assistant', content, ...(summary.outside && { outside: true }) };
}

/** What the store says of an answer: it may be drawn from text from outside. */
function markOf({ outside }: Item): { outside?: true } {
  return outside === true ? { outside } : {};
}

function messageOf(item: Item): RequestMessage {
  const { role, content } = item;
  if (role === undefined)
    throw refuse('a message of the input needs a role: user, assistant, system or developer');
  const parts = Array.isArray(content) ? content : [];
  const isText = parts.every(({ type }) => type === 'input_text' || type === 'output_text');
  if (isText && parts.length <= 1) return { role, content: parts[0]?.text ?? '', ...markOf(item) };
  return { role, content: parts.map(readPart), ...markOf(item) };
}

function readPart(part: Part): z.output<typeof messagePart> {
  const read = messagePart.safeParse(chatPart(part));
  if (read.success) return read.data;
  throw refuse(`content of type "${part.type}" is not as it should be: ${z.prettifyError(read.error)}`);
}

/** A part of a message as chat completions have it; what a service does not take, it refuses by that name. */
function chatPart(part: Part): unknown {
  const { type, text = '' } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text };
    case 'refusal':
    case 'input_audio':
      return part;
    case 'input_image':
      if (typeof part.image_url !== 'string')
        throw refuse('input_image needs image_url with the data or an address: files are not kept here');
      return { type: 'image_url', image_url: { url: part.image_url } };
    case 'input_file':
      if (typeof part.file_data === 'string')
        return { type: 'file', file: { filename: part.filename ?? undefined, file_data: part.file_data } };
      if (typeof part.file_url === 'string') return { type: 'file', file: { file_url: part.file_url } };
      throw refuse(
        'input_file needs file_data with the content or file_url with an address: file_id names no file',
      );
    default:
      throw refuse(`content of type "${type}" is not supported`);
  }
}

function callOf({ type, call_id: id, name, namespace, arguments: given = '{}', input = '' }: Item) {
  if (id === undefined || name === undefined) throw refuse(`a ${type} needs call_id and name`);
  const written = type === 'custom_tool_call' ? JSON.stringify({ input }) : given;
  return { id, type: 'function', function: { name: functionName({ name, namespace }), arguments: written } };
}

function resultOf({ type, call_id, output }: Item): RequestMessage {
  if (call_id === undefined) throw refuse(`a ${type} needs the call_id of its call`);
  const content = Array.isArray(output) ? output.map(readPart) : (output ?? '');
  return { role: 'tool', tool_call_id: call_id, content };
}

function refuse(message: string) {
  return openAiErrors.invalid_request_error({ message }, { details: { param: 'input' } });
}
