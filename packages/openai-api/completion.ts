/** What a service yields while it answers; `end` is the last one. Failures are thrown. */
export type AnswerEvent =
  | { type: 'text-delta'; text: string }
  /** Progress or reasoning, which clients show apart from the answer. */
  | { type: 'reasoning-delta'; text: string }
  /** A page that the answer is drawn from; the places are characters of the whole answer. */
  | { type: 'citation'; citation: UrlCitation }
  /** A picture that the model itself made. */
  | { type: 'image'; mediaType: string; base64: string }
  /** Parameters of the request that the model's endpoint turned out to refuse: the answer was made without them. */
  | { type: 'ignored-parameters'; names: readonly string[] }
  | {
      type: 'end';
      finishReason: FinishReason;
      usage?: TokenUsage | undefined;
      /** The whole answer where it is not the deltas joined. */
      text?: string;
      /** Calls of the caller's own tools, which the caller has to answer. */
      toolCalls?: readonly ToolCall[];
      /** Whether the answer is drawn from text from outside; responses store it, for whoever continues them. */
      isOutside?: boolean;
    };

export interface UrlCitation {
  url: string;
  title?: string;
  start?: number;
  end?: number;
}

/** As chat completions and responses write it; without places it is for the whole text. */
export function citationFields({ url, title = url, start = 0, end }: UrlCitation, text: string) {
  return { url, title, start_index: start, end_index: end ?? text.length };
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface TokenUsage {
  inputTokens: number;
  outputTokens: number;
  /** Default: the sum of the two. */
  totalTokens?: number;
  /** Input tokens that were in a cache. */
  cachedInputTokens?: number;
  /** Set when some of it was not counted by an endpoint but estimated. */
  estimated?: true;
}

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type EndEvent = Extract<AnswerEvent, { type: 'end' }>;

export interface WholeAnswer {
  text: string;
  reasoning: string;
  citations: readonly UrlCitation[];
}

/** Renders the answer to one request as OpenAI's API does, whole or in chunks. */
export class Completion {
  readonly id = `chatcmpl-${crypto.randomUUID()}`;
  readonly #created = Math.floor(Date.now() / 1000);
  readonly #model: string;
  /** What has been streamed. */
  #text = '';

  constructor(model: string) {
    this.#model = model;
  }

  whole(
    { text: deltas, reasoning, citations }: WholeAnswer,
    { finishReason, usage, text = deltas, toolCalls = [] }: EndEvent,
  ) {
    const annotations = citations.map((each) => ({
      type: 'url_citation',
      url_citation: citationFields(each, text),
    }));
    const message = {
      role: 'assistant',
      content: text === '' && toolCalls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(annotations.length > 0 && { annotations }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    };
    return {
      ...this.#head('chat.completion'),
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
      usage: usageBody(usage),
    };
  }

  opening() {
    return this.#chunk({ role: 'assistant', content: '' });
  }

  chunks(event: AnswerEvent, includeUsage: boolean): object[] {
    if (event.type === 'text-delta') {
      this.#text += event.text;
      return [this.#chunk({ content: event.text })];
    }
    if (event.type === 'reasoning-delta') return [this.#chunk({ reasoning_content: event.text })];
    // Chat completions have no place for it: the text links to it.
    if (event.type === 'image') return [];
    if (event.type === 'citation') {
      const url_citation = citationFields(event.citation, this.#text);
      return [this.#chunk({ annotations: [{ type: 'url_citation', url_citation }] })];
    }
    // Only where it is known too late for the header.
    if (event.type === 'ignored-parameters') return [{ ...this.#chunk({}), ignored_parameters: event.names }];
    const { finishReason, usage, toolCalls = [] } = event;
    const calls = toolCalls.map((call, index) => this.#chunk({ tool_calls: [{ index, ...call }] }));
    const last = [...calls, this.#chunk({}, finishReason)];
    if (!includeUsage) return last;
    return [...last, { ...this.#head('chat.completion.chunk'), choices: [], usage: usageBody(usage) }];
  }

  #chunk(delta: object, finishReason: FinishReason | null = null) {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }];
    return { ...this.#head('chat.completion.chunk'), choices };
  }

  #head(object: string) {
    // Optional in OpenAI's reference; OpenRouter's client refuses an answer without it.
    return { id: this.id, object, created: this.#created, model: this.#model, system_fingerprint: null };
  }
}

function usageBody(
  { inputTokens, outputTokens, totalTokens, cachedInputTokens, estimated }: TokenUsage = {
    inputTokens: 0,
    outputTokens: 0,
  },
) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens ?? inputTokens + outputTokens,
    ...(cachedInputTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    ...(estimated && { estimated }),
  };
}

/**
 * What whoever waits should know beside the answer: that the call is tried again, that the model takes no tools, that
 * earlier messages were summarised. It is sent as reasoning once the answer has begun: a failure before that has a
 * status of its own, which a frame would cost it.
 */
export class CallNotes {
  #held: AnswerEvent[] = [];
  #hasBegun = false;

  /** What can be sent now. */
  add(text: string): AnswerEvent[] {
    this.#held.push({ type: 'reasoning-delta', text: `${text}\n` });
    return this.#hasBegun ? this.begin() : [];
  }

  /** Call it before the first piece of the answer: what was held goes first. */
  begin(): AnswerEvent[] {
    this.#hasBegun = true;
    return this.#held.splice(0);
  }
}
