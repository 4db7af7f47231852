import { HttpError } from '@trunkline/http';
import {
  type AnswerEvent,
  citationFields,
  type TokenUsage,
  type ToolCall,
  type UrlCitation,
} from '../completion.ts';
import { type Item, itemId } from './items.ts';
import { conversationOf, nameOf, type ResponseRequest } from './request.ts';
import { calledFields } from './tools.ts';

type Status = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
type EndEvent = Extract<AnswerEvent, { type: 'end' }>;

/** An event of the stream, numbered. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  /** Of a piece of text: what it is part of, and the text. */
  item_id?: string;
  delta?: string;
}

/** A response as `GET /v1/responses/{id}` shows it. */
export interface ResponseBody {
  id: string;
  status: Status;
  output: Item[];
  [field: string]: unknown;
}

/** A stretch of the output that grows. */
interface Growing {
  type: 'message' | 'reasoning';
  id: string;
  text: string;
  /** Where a message begins in the whole answer. */
  offset: number;
  /** Their places are characters of the whole answer. */
  citations: UrlCitation[];
}

interface Picture {
  type: 'image_generation_call';
  id: string;
  mediaType: string;
  base64: string;
}

/** A call of a tool of the caller's. */
type Call = { id: string } & ReturnType<typeof calledFields>;

type Output = Growing | Picture | Call;

export interface ResponseSettings {
  id: string;
  model: string;
  request: ResponseRequest;
  ignored: readonly string[];
}

/** Builds one response from the events of its answer, and says each step as events in the order that OpenAI publishes. */
export class ResponseWriter {
  readonly id: string;
  readonly #settings: ResponseSettings;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #ignored: string[];
  #completed: number | null = null;
  #status: Status;
  #sequence = 0;
  #output: Output[] = [];
  #open: Growing | undefined;
  #usage: TokenUsage | undefined;
  #error: { code: string; message: string } | null = null;
  #incomplete: { reason: string } | null = null;
  /** Whether it may be drawn from text from outside: only the end of an answer says that it is not. */
  isOutside = true;
  /** The task that a background response runs as. */
  taskId: string | undefined;

  constructor(settings: ResponseSettings) {
    this.id = settings.id;
    this.#settings = settings;
    this.#ignored = [...settings.ignored];
    this.#status = settings.request.background ? 'queued' : 'in_progress';
  }

  get isOver(): boolean {
    return this.#status !== 'queued' && this.#status !== 'in_progress';
  }

  /** The first events; a background response waits for its turn after them. */
  created(): ResponseEvent[] {
    const created = this.#event('response.created', { response: this.body() });
    return this.#status === 'queued'
      ? [created, this.#event('response.queued', { response: this.body() })]
      : [created, this.#event('response.in_progress', { response: this.body() })];
  }

  /** A background response begins. */
  begin(): ResponseEvent[] {
    this.#status = 'in_progress';
    return [this.#event('response.in_progress', { response: this.body() })];
  }

  take(event: AnswerEvent): ResponseEvent[] {
    if (this.isOver) return [];
    switch (event.type) {
      case 'text-delta':
        return this.#grow('message', event.text);
      case 'reasoning-delta':
        return this.#grow('reasoning', event.text);
      case 'citation':
        return this.#cite(event.citation);
      case 'image':
        return this.#draw(event);
      case 'ignored-parameters':
        this.#ignored.push(...event.names.map(nameOf));
        return [];
      case 'end':
        return this.#finish(event);
    }
  }

  fail(error: unknown): ResponseEvent[] {
    const isTold = error instanceof HttpError;
    const message = isTold ? error.message : 'The answer failed; the log says why.';
    this.#error = { code: isTold && error.status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
    return this.#end('failed', 'response.failed');
  }

  /** OpenAI publishes no event for this: a stream just ends. */
  cancel(): void {
    this.#open = undefined;
    this.#status = 'cancelled';
  }

  body(): ResponseBody {
    const { id, model, request } = this.#settings;
    const { text, tools, reasoning } = request;
    const conversation = conversationOf(request);
    return {
      id,
      object: 'response',
      created_at: this.#created,
      completed_at: this.#completed,
      status: this.#status,
      background: request.background ?? false,
      error: this.#error,
      incomplete_details: this.#incomplete,
      instructions: request.instructions ?? null,
      max_output_tokens: request.max_output_tokens ?? null,
      model,
      output: this.#output.map((each) => itemOf(each, this.#statusOf(each))),
      parallel_tool_calls: request.parallel_tool_calls ?? true,
      previous_response_id: request.previous_response_id ?? null,
      reasoning: { effort: reasoning?.effort ?? null, summary: null },
      store: request.store ?? true,
      temperature: request.temperature ?? null,
      text: {
        format: text?.format ?? { type: 'text' },
        ...(text?.verbosity && { verbosity: text.verbosity }),
      },
      tool_choice: request.tool_choice ?? 'auto',
      tools: tools ?? [],
      top_p: request.top_p ?? null,
      truncation: request.truncation ?? 'disabled',
      usage: usageBody(this.#usage),
      user: request.user ?? null,
      metadata: request.metadata ?? {},
      ...(conversation !== undefined && { conversation: { id: conversation } }),
      ...(this.#ignored.length > 0 && { ignored_parameters: this.#ignored }),
      ...(this.taskId !== undefined && { task_id: this.taskId }),
    };
  }

  #statusOf(output: Output): string {
    if (output === this.#open) return 'in_progress';
    const isCut = this.#status === 'incomplete' || this.#status === 'failed' || this.#status === 'cancelled';
    return isCut && output === this.#output.at(-1) ? 'incomplete' : 'completed';
  }

  #grow(type: Growing['type'], delta: string): ResponseEvent[] {
    if (delta === '') return [];
    const before = this.#open?.type === type ? [] : this.#begin(type);
    const open = this.#open as Growing;
    open.text += delta;
    return [...before, this.#event(kinds[type].delta, { ...this.#place(open), ...kinds[type].extra, delta })];
  }

  #begin(type: Growing['type']): ResponseEvent[] {
    const closed = this.#close();
    const offset = this.#output.filter(isMessage).reduce((sum, { text }) => sum + text.length, 0);
    const item: Growing = { type, id: this.#nextId(type), text: '', offset, citations: [] };
    this.#output.push(item);
    this.#open = item;
    const place = this.#place(item);
    return [
      ...closed,
      this.#event('response.output_item.added', {
        output_index: place.output_index,
        item: { ...itemOf(item, 'in_progress'), [kinds[type].list]: [] },
      }),
      this.#event(kinds[type].partAdded, { ...place, part: partOf(item) }),
    ];
  }

  /** Belongs to the message in which its place begins, or to the last one. */
  #cite(citation: UrlCitation): ResponseEvent[] {
    const { start = Number.MAX_SAFE_INTEGER } = citation;
    const item = this.#output.filter(isMessage).findLast(({ offset }) => offset <= start);
    if (item === undefined) return [];
    item.citations.push(citation);
    if (item !== this.#open) return [];
    return [
      this.#event('response.output_text.annotation.added', {
        ...this.#place(item),
        annotation_index: item.citations.length - 1,
        annotation: annotationOf(citation, item),
      }),
    ];
  }

  #close(status = 'completed'): ResponseEvent[] {
    const item = this.#open;
    if (item === undefined) return [];
    this.#open = undefined;
    const place = this.#place(item);
    const { done, partDone, extra } = kinds[item.type];
    return [
      this.#event(done, { ...place, ...extra, text: item.text }),
      this.#event(partDone, { ...place, part: partOf(item) }),
      this.#event('response.output_item.done', {
        output_index: place.output_index,
        item: itemOf(item, status),
      }),
    ];
  }

  #call(call: ToolCall): ResponseEvent[] {
    const fields = calledFields(call, this.#settings.request.tools);
    const item: Call = { id: this.#nextId(fields.type), ...fields };
    this.#output.push(item);
    const output_index = this.#output.length - 1;
    const place = { item_id: item.id, output_index };
    const [list, event, given] =
      item.type === 'custom_tool_call'
        ? (['input', 'response.custom_tool_call_input', item.input] as const)
        : (['arguments', 'response.function_call_arguments', item.arguments] as const);
    return [
      this.#event('response.output_item.added', {
        output_index,
        item: { ...itemOf(item, 'in_progress'), [list]: '' },
      }),
      this.#event(`${event}.delta`, { ...place, delta: given }),
      this.#event(`${event}.done`, { ...place, [list]: given }),
      this.#event('response.output_item.done', { output_index, item: itemOf(item, 'completed') }),
    ];
  }

  #draw({ mediaType, base64 }: Extract<AnswerEvent, { type: 'image' }>): ResponseEvent[] {
    const closed = this.#close();
    const type = 'image_generation_call' as const;
    const item: Picture = { type, id: this.#nextId(type), mediaType, base64 };
    this.#output.push(item);
    const output_index = this.#output.length - 1;
    const place = { item_id: item.id, output_index };
    return [
      ...closed,
      this.#event('response.output_item.added', {
        output_index,
        item: { ...itemOf(item, 'in_progress'), result: null },
      }),
      this.#event('response.image_generation_call.in_progress', place),
      this.#event('response.image_generation_call.completed', place),
      this.#event('response.output_item.done', { output_index, item: itemOf(item, 'completed') }),
    ];
  }

  #finish({ finishReason, text, usage, toolCalls = [], isOutside = false }: EndEvent): ResponseEvent[] {
    this.#usage = usage;
    this.isOutside = isOutside;
    const events = text === undefined ? [] : this.#settle(text);
    const reason = { length: 'max_output_tokens', content_filter: 'content_filter' }[finishReason as string];
    events.push(...this.#close(reason && 'incomplete'), ...toolCalls.flatMap((call) => this.#call(call)));
    if (reason === undefined) return [...events, ...this.#end('completed', 'response.completed')];
    this.#incomplete = { reason };
    return [...events, ...this.#end('incomplete', 'response.incomplete')];
  }

  /** The whole answer may say more than its deltas did; what a stream has told stays. */
  #settle(text: string): ResponseEvent[] {
    const said = this.#output.filter(isMessage);
    const joined = said.map((each) => each.text).join('');
    if (text.startsWith(joined)) return this.#grow('message', text.slice(joined.length));
    if (this.#settings.request.stream) return [];
    const [first] = said;
    if (first !== undefined)
      Object.assign(first, { text, citations: said.flatMap(({ citations }) => citations) });
    this.#output = this.#output.filter((each) => !isMessage(each) || each === first);
    return [];
  }

  #end(status: Status, type: string): ResponseEvent[] {
    const closed = this.#close(status === 'completed' ? status : 'incomplete');
    this.#status = status;
    if (status === 'completed') this.#completed = Math.floor(Date.now() / 1000);
    return [...closed, this.#event(type, { response: this.body() })];
  }

  #place({ type, id }: Growing) {
    const output_index = this.#output.findIndex((each) => each.id === id);
    return { item_id: id, output_index, [kinds[type].index]: 0 };
  }

  #nextId(type: string): string {
    return itemId(type, this.id, this.#output.length);
  }

  #event(type: string, fields: object): ResponseEvent {
    return { type, sequence_number: this.#sequence++, ...fields };
  }
}

/** How the two kinds of text that grow are named. Thoughts are told as a summary, which all clients show. */
const kinds = {
  message: {
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    partAdded: 'response.content_part.added',
    partDone: 'response.content_part.done',
    index: 'content_index',
    list: 'content',
    extra: { logprobs: [] },
  },
  reasoning: {
    delta: 'response.reasoning_summary_text.delta',
    done: 'response.reasoning_summary_text.done',
    partAdded: 'response.reasoning_summary_part.added',
    partDone: 'response.reasoning_summary_part.done',
    index: 'summary_index',
    list: 'summary',
    extra: {},
  },
} as const;

function isMessage(output: Output): output is Growing {
  return output.type === 'message';
}

function partOf(item: Growing) {
  const { type, text, citations } = item;
  if (type === 'reasoning') return { type: 'summary_text', text };
  const annotations = citations.map((each) => annotationOf(each, item));
  return { type: 'output_text', text, annotations, logprobs: [] };
}

/** With places in the text of its item; one that reaches beyond is for all of it. */
function annotationOf({ start = 0, end = 0, ...page }: UrlCitation, { text, offset }: Growing) {
  const place = { start: start - offset, end: end - offset };
  const isInside = place.start >= 0 && place.end > place.start && place.end <= text.length;
  return { type: 'url_citation', ...citationFields(isInside ? { ...page, ...place } : page, text) };
}

function itemOf(output: Output, status: string): Item {
  const { type, id } = output;
  if ('call_id' in output) return { ...output, status };
  if (type === 'image_generation_call') {
    const { mediaType, base64: result } = output;
    return {
      id,
      type,
      status,
      result,
      output_format: mediaType.replace(/^image\//, '').replace(/\+.*$/, ''),
    };
  }
  if (type === 'message') return { id, type, status, role: 'assistant', content: [partOf(output)] };
  return { id, type, status, summary: [partOf(output)] };
}

export function usageBody(usage: TokenUsage | undefined) {
  if (usage === undefined) return null;
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, estimated } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: totalTokens ?? inputTokens + outputTokens,
    ...(estimated && { estimated }),
  };
}
