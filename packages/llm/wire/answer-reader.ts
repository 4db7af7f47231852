import type { JSONValue, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { isErrorDocument, isFields } from './error-body.ts';
import { providerName } from './messages.ts';
import { type ToolCallHandler, ToolCallReader } from './tool-calls.ts';
import { finishReasonOf, usageIn, usageOf } from './usage.ts';

type Fields = Record<string, unknown>;

export interface AnswerHandler extends ToolCallHandler {
  /** The endpoint sent an error in place of the answer, or of its rest. */
  failed(document: unknown): void;
}

const mega = 1024 * 1024;
/** Characters that are read of an answer; a model that repeats itself without end must not fill the memory. */
const longest = { text: 8 * mega, reasoning: 4 * mega, 'signed thoughts': 4 * mega, files: 48 * mega };
const mostSources = 100;

/** Makes the parts of an answer of the documents that an endpoint sends: chunks of a stream, or a whole completion. */
export class AnswerReader {
  readonly #on: AnswerHandler;
  readonly #calls: ToolCallReader;
  #open: 'text' | 'reasoning' | undefined;
  #blocks = 0;
  #hasText = false;
  #hasFiles = false;
  /** By address and place, and by address alone. */
  readonly #sources = new Set<string>();
  readonly #cited = new Set<string>();
  #hasMetadata = false;
  #rawFinish: string | undefined;
  #usage: unknown;
  #reasoningField = '';
  #details: Record<string, Fields[]> = {};
  readonly #lengths = { text: 0, reasoning: 0, 'signed thoughts': 0, files: 0 };
  /** Whether the endpoint said that the answer is complete. */
  isComplete = false;

  constructor(on: AnswerHandler) {
    this.#on = on;
    this.#calls = new ToolCallReader(on);
  }

  /** Whether anything was said or called. */
  get isEmpty(): boolean {
    return !this.#hasText && !this.#hasFiles && this.#calls.isEmpty;
  }

  /** Characters read so far, also of what yields its part later. */
  get length(): number {
    return Object.values(this.#lengths).reduce((sum, length) => sum + length, this.#calls.length);
  }

  get usage(): LanguageModelV4Usage {
    return usageOf(this.#usage);
  }

  read(document: unknown): void {
    if (isErrorDocument(document)) this.#on.failed(document);
    else if (isFields(document)) this.#readChunk(document);
  }

  #readChunk(chunk: Fields): void {
    this.#readMetadata(chunk);
    const choice = firstChoice(chunk.choices);
    this.#usage = usageIn(chunk, choice) ?? this.#usage;
    this.#readDelta(choice);
    // Perplexity and those that pass it on name all sources with every chunk.
    for (const source of listOf(chunk.search_results)) this.#cite(source);
    for (const url of listOf(chunk.citations)) this.#cite({ url });
    const reason = typeof choice.finish_reason === 'string' ? choice.finish_reason : '';
    if (reason !== '') this.#rawFinish = reason;
    // A whole message needs nobody to say that it is complete.
    if (reason !== '' || (isFields(choice.message) && !isFields(choice.delta))) this.isComplete = true;
    if (choice.error) this.#on.failed({ error: choice.error });
  }

  /** Closes what is open. */
  end(): void {
    this.#close();
    this.#calls.end(this.#details as Record<string, JSONValue>);
  }

  finishPart(failed: boolean): Extract<LanguageModelV4StreamPart, { type: 'finish' }> {
    const facts = { hasCalls: !this.#calls.isEmpty };
    const finishReason = failed
      ? { unified: 'error' as const, raw: this.#rawFinish }
      : finishReasonOf(this.#rawFinish, facts);
    return { type: 'finish', finishReason, usage: this.usage };
  }

  #readMetadata({ id, model, created }: Fields): void {
    if (this.#hasMetadata || (!id && !model)) return;
    this.#hasMetadata = true;
    this.#on.push({
      type: 'response-metadata',
      ...(typeof id === 'string' && { id }),
      ...(typeof model === 'string' && { modelId: model }),
      ...(typeof created === 'number' && created > 0 && { timestamp: new Date(created * 1000) }),
    });
  }

  #readDelta(choice: Fields): void {
    // Some send the whole message once more at the end of a stream.
    const whole = this.isEmpty && isFields(choice.message) ? choice.message : {};
    const delta = isFields(choice.delta) ? choice.delta : whole;
    this.#readReasoning(delta);
    this.#readContent(delta.content ?? choice.text);
    if (typeof delta.refusal === 'string') this.#refuse(delta.refusal);
    for (const image of listOf(delta.images)) this.#readImage(image);
    for (const note of listOf(delta.annotations))
      if (isFields(note) && note.type === 'url_citation') this.#cite(note.url_citation ?? note);
    const calls = Array.isArray(delta.tool_calls) ? [...delta.tool_calls] : [];
    if (isFields(delta.tool_calls)) calls.push(delta.tool_calls);
    if (isFields(delta.function_call)) calls.push({ index: 0, function: delta.function_call });
    if (calls.length > 0) this.#close();
    for (const call of calls) this.#calls.read(call);
  }

  #readReasoning(delta: Fields): void {
    for (const name of ['reasoning_details', 'thinking_blocks']) this.#keepDetails(name, delta[name]);
    const fields = ['reasoning_content', 'reasoning', 'thinking'];
    const field = fields.find((name) => typeof delta[name] === 'string' && delta[name] !== '');
    if (field === undefined) {
      const details = Array.isArray(delta.reasoning_details) ? delta.reasoning_details.filter(isFields) : [];
      for (const { text, summary } of details) this.#say('reasoning', textOf(text ?? summary));
      return;
    }
    this.#reasoningField = field;
    this.#say('reasoning', String(delta[field]));
  }

  #readContent(content: unknown): void {
    if (typeof content === 'string') this.#say('text', content);
    else if (Array.isArray(content)) for (const part of content) this.#readPart(part);
    else if (isFields(content)) this.#readPart(content);
  }

  #readPart(part: unknown): void {
    if (typeof part === 'string') this.#say('text', part);
    if (!isFields(part)) return;
    const { type, text, refusal } = part;
    const thought = part.thinking ?? (type === 'reasoning' ? (text ?? part.reasoning) : undefined);
    if (thought !== undefined) this.#say('reasoning', textOf(thought));
    else if (type === 'image_url' || type === 'output_image') this.#readImage(part);
    else if (typeof text === 'string') this.#say('text', text);
    else if (typeof refusal === 'string') this.#refuse(refusal);
  }

  /** A picture that the model made: its bytes, or an address of the gateway, which becomes a link. */
  #readImage(image: unknown): void {
    const given = isFields(image) ? image.image_url : undefined;
    const url = isFields(given) ? given.url : given;
    if (typeof url !== 'string') return;
    const [, mediaType, data] = DATA_URL.exec(url) ?? [];
    if (mediaType === undefined || data === undefined) {
      if (/^https?:\/\/\S+$/.test(url)) this.#say('text', `\n\n![image](${url})`);
      return;
    }
    if (this.#isTooLong('files', data.length)) return;
    this.#close();
    this.#hasFiles = true;
    this.#on.push({ type: 'file', mediaType: mediaType.toLowerCase(), data: { type: 'data', data } });
  }

  /** A page that the endpoint says the answer is drawn from. */
  #cite(given: unknown): void {
    const { url, title, start_index: start, end_index: end } = isFields(given) ? given : {};
    if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || url.length > 2000) return;
    const key = typeof start === 'number' ? `${url} ${start}` : url;
    const isKnown = this.#sources.has(key) || (typeof start !== 'number' && this.#cited.has(url));
    if (isKnown || this.#sources.size >= mostSources) return;
    this.#sources.add(key);
    this.#cited.add(url);
    const place =
      typeof start === 'number' && typeof end === 'number'
        ? { providerMetadata: { [providerName]: { start, end } } }
        : {};
    const named = typeof title === 'string' && title !== '' ? { title: title.slice(0, 300) } : {};
    this.#on.push({
      type: 'source',
      sourceType: 'url',
      id: `s${this.#sources.size}`,
      url,
      ...named,
      ...place,
    });
  }

  #refuse(words: string): void {
    this.#say('text', words);
  }

  #say(kind: 'text' | 'reasoning', delta: string): void {
    if (delta === '' || this.#isTooLong(kind, delta.length)) return;
    if (this.#open !== kind) {
      this.#close();
      this.#blocks += 1;
      this.#open = kind;
      this.#on.push({ type: `${kind}-start`, id: this.#id });
    }
    if (kind === 'text') this.#hasText = true;
    this.#on.push({ type: `${kind}-delta`, id: this.#id, delta });
  }

  #isTooLong(kind: keyof typeof longest, length: number): boolean {
    this.#lengths[kind] += length;
    if (this.#lengths[kind] <= longest[kind]) return false;
    this.#on.tooLong(`it has more than ${longest[kind] / mega} MB of ${kind}`);
    return true;
  }

  #close(): void {
    const kind = this.#open;
    if (kind === undefined) return;
    this.#open = undefined;
    const reasoningField = kind === 'reasoning' ? this.#reasoningField : '';
    const metadata =
      reasoningField === '' ? {} : { providerMetadata: { [providerName]: { reasoningField } } };
    this.#on.push({ type: `${kind}-end`, id: this.#id, ...metadata });
  }

  get #id(): string {
    return `${this.#blocks}`;
  }

  /** Signed thoughts come in fragments and go back whole with the calls that they led to. */
  #keepDetails(name: string, given: unknown): void {
    if (!Array.isArray(given) || this.#isTooLong('signed thoughts', JSON.stringify(given).length)) return;
    const kept = this.#details[name] ?? [];
    this.#details[name] = kept;
    for (const detail of given.filter(isFields)) {
      const last = kept.at(-1);
      if (last === undefined || last.type !== detail.type || last.index !== detail.index)
        kept.push({ ...detail });
      else for (const [key, value] of Object.entries(detail)) last[key] = joined(key, last[key], value);
    }
  }
}

const DATA_URL = /^data:(\w[\w.+-]*\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,([A-Za-z0-9+/=_-]+)$/;

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function joined(key: string, before: unknown, value: unknown): unknown {
  const isText = ['text', 'thinking', 'summary', 'data'].includes(key);
  if (isText && typeof before === 'string' && typeof value === 'string') return before + value;
  return value === null || value === '' ? before : value;
}

function firstChoice(choices: unknown): Fields {
  const listed = Array.isArray(choices) ? choices.filter(isFields) : [];
  return listed.find(({ index }) => (index ?? 0) === 0) ?? {};
}

/** Mistral's thoughts are a list of parts inside a part. */
function textOf(thought: unknown): string {
  if (typeof thought === 'string') return thought;
  if (!Array.isArray(thought)) return '';
  return thought.map((part) => (isFields(part) && typeof part.text === 'string' ? part.text : '')).join('');
}
