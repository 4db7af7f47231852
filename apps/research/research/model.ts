import type { Principal } from '@trunkline/identity';
import {
  answerLimitOf,
  contextWindowOf,
  costOf,
  learnContextWindow,
  listenForWaits,
  ModelError,
  type ModelGateway,
  silenceLimitMs,
} from '@trunkline/llm';
import { cutText, estimateTokens, promptBudget, type TurnPolicy } from '@trunkline/loop';
import { BoundedMap, ConcurrencyLimiter, Deadline, formatDuration } from '@trunkline/std';
import { z } from 'zod';
import { JudgeRecord } from '../citations/controls.ts';
import { researchErrors } from '../errors.ts';
import type { Spending } from '../store/jobs.ts';

type LanguageModel = ReturnType<ModelGateway['languageModel']>;
type CallOptions = Parameters<LanguageModel['doGenerate']>[0];

/** How often a prompt that was too long is shortened and sent again. */
const MOST_OVERFLOWS = 2;
/** Tokens below which a passage says too little to be worth its place. */
const SHORTEST_PASSAGE = 40;
/** Tokens that an answer needs; a call whose budget does not leave so many is not made. */
const LEAST_ANSWER = 160;
/** A prompt is shortened to fit a budget, but not below this share of it. */
const LEAST_SHARE = 0.5;
/** Tokens that an endpoint counts where we estimate one, until it has answered once; estimates are within a fifth. */
const FIRST_SCALE = 1.25;
/** What a model is told that wrote nothing of use. */
const NUDGE = 'Your last answer was empty or a call of a tool. Write the text now, in plain words.';
/** Tokens of the frame around two messages. */
const FRAME = 16;

/** What is left of a job's tokens does not pay for the call, so it was not made. */
export class TokensSpentError extends Error {
  readonly code = 'tokens_spent';
}

export interface ModelRequest {
  instructions: string;
  prompt: string;
  signal: AbortSignal;
  /** Which model gives an object; the fast one by default. */
  by?: 'judge' | 'fast' | 'writer';
  /** Nothing may be cut from the prompt: one that is too long for the model fails instead. */
  isWhole?: boolean;
  /** Whose budget pays. */
  principal: Principal;
  /** What a call may use up, prompt and answer together; asked before each call. Without it there is no limit. */
  tokensLeft?: () => number;
  /** Called when the model got less of the prompt than there was, or its answer was cut, with the reason. */
  onShortened?: (why: string) => void;
  /** Called with words for the person who waits: that the model is being loaded, say. */
  onNote?: ((words: string) => void) | undefined;
  /** Called with what each call used up. */
  onSpent: (spending: Spending) => void;
}

/** The policy's budgets of money; without one nothing is booked. */
export type ModelBudgets = Pick<TurnPolicy, 'agent' | 'outOfMoney' | 'pay'>;

/** The model as research uses it: an object of a given shape, or a text. Calls over all jobs are bounded. */
export class ResearchModel {
  readonly #gateway: ModelGateway;
  readonly #limiter: ConcurrencyLimiter;
  readonly #budgets: ModelBudgets | undefined;
  readonly #silentMs: number | undefined;
  /** By model: the most tokens that its endpoint counted where we estimated one. */
  readonly #scales = new BoundedMap<string, number>(200);
  /** By model: how it did as a judge on questions whose answer is known. */
  readonly #records = new BoundedMap<string, JudgeRecord>(20);

  /** `silentMs`: how long a call may bring nothing; when not given, as long as fits the model. */
  constructor(gateway: ModelGateway, callsAtOnce: number, budgets?: ModelBudgets, silentMs?: number) {
    this.#silentMs = silentMs;
    this.#gateway = gateway;
    this.#budgets = budgets;
    this.#limiter = new ConcurrencyLimiter({ limit: callsAtOnce });
  }

  describe(): { name: string; demo: boolean } {
    const { name, demo } = this.#gateway.describe();
    return { name, demo };
  }

  /** How the model that judges citations did so far on questions whose answer is known. */
  judgeRecord(): JudgeRecord {
    const { modelId } = this.#gateway.judgeModel();
    const record = this.#records.get(modelId) ?? new JudgeRecord();
    this.#records.set(modelId, record);
    return record;
  }

  /** Whether the policy's budgets let whoever asks call the model. */
  mayCall(principal: Principal): boolean {
    const { agent = '', outOfMoney } = this.#budgets ?? {};
    return outOfMoney?.(principal, agent) === undefined;
  }

  /** An object of the schema's shape; undefined when the model gives none in two attempts. */
  async object<Shape>(schema: z.ZodType<Shape>, request: ModelRequest): Promise<Shape | undefined> {
    const shape = shapeOf(schema);
    for (const isStrict of [true, false]) {
      const prompt = isStrict
        ? request.prompt
        : `${request.prompt}\n\nAnswer with one JSON object of this schema and nothing else:\n${JSON.stringify(shape)}`;
      const format = { responseFormat: { type: 'json' as const, schema: shape, name: 'answer' } };
      const text = await this.#attempt(isStrict, { ...request, prompt }, isStrict ? format : {});
      const parsed = schema.safeParse(parseObject(text));
      if (parsed.success) return parsed.data;
    }
    return undefined;
  }

  /** A text by the main model. One that is empty or a call that cannot be read is asked for once more, with a nudge. */
  async text(request: ModelRequest): Promise<string> {
    const model = this.#gateway.languageModel();
    try {
      const text = await this.#call(model, request, {});
      if (text.trim() !== '') return text;
    } catch (error) {
      if (!(error instanceof ModelError) || error.code !== 'malformed-call') throw error;
    }
    return await this.#call(model, { ...request, prompt: `${request.prompt}\n\n${NUDGE}` }, {});
  }

  /** Some endpoints refuse a schema in the request: then the words of the second attempt have to do. */
  async #attempt(mayRefuse: boolean, request: ModelRequest, extra: Partial<CallOptions>): Promise<string> {
    try {
      return await this.#call(this.#modelOf(request), request, extra);
    } catch (error) {
      const code = error instanceof ModelError ? error.code : undefined;
      if (code === 'content-filter' || (mayRefuse && code === 'bad-request')) return '';
      throw error;
    }
  }

  #modelOf({ by = 'fast' }: ModelRequest): LanguageModel {
    if (by === 'writer') return this.#gateway.languageModel();
    return by === 'judge' ? this.#gateway.judgeModel() : this.#gateway.fastModel();
  }

  #call(model: LanguageModel, request: ModelRequest, extra: Partial<CallOptions>): Promise<string> {
    const { signal, principal } = request;
    const { agent = '', outOfMoney } = this.#budgets ?? {};
    const call = async () => {
      const spent = outOfMoney?.(principal, agent);
      if (spent !== undefined) throw researchErrors.budget_spent({ spent });
      return this.#callWithin(model, request, extra);
    };
    return this.#limiter.run(call, { signal });
  }

  /** Fits the prompt into the model's window; one that is refused as too long is shortened, twice at most. */
  async #callWithin(
    model: LanguageModel,
    request: ModelRequest,
    extra: Partial<CallOptions>,
  ): Promise<string> {
    const { instructions, prompt, signal, isWhole = false, onShortened } = request;
    const window = (await contextWindowOf(model, signal)) ?? Number.POSITIVE_INFINITY;
    const whole = estimateTokens(prompt);
    const fixed = estimateTokens(instructions) + estimateTokens(JSON.stringify(extra.responseFormat ?? ''));
    let size = Math.min(promptBudget(window, answerLimitOf(model)) - fixed, whole);
    if (isWhole && size < whole) throw new ModelError('context-too-long');
    for (let retries = 0; ; retries += 1) {
      const paid = this.#paidPrompt(model, request) - fixed;
      if (paid < size * (isWhole ? 1 : LEAST_SHARE)) throw new TokensSpentError();
      if (Math.min(size, paid) < whole)
        onShortened?.(paid < size ? 'the token budget was short' : 'the context of the model is too small');
      try {
        const room = Math.min(size, paid);
        const fitting = whole <= room ? prompt : fitPrompt(prompt, room);
        const estimated = fixed + (fitting === prompt ? whole : estimateTokens(fitting));
        const cap = this.#cap(model, request, estimated);
        const sent = { ...request, prompt: fitting, estimated };
        return await this.#callOnce(model, sent, { ...extra, ...cap });
      } catch (error) {
        const isOverflow = error instanceof ModelError && error.code === 'context-too-long';
        if (!isOverflow || isWhole || retries === MOST_OVERFLOWS) throw error;
        if (error.contextTokens !== undefined) learnContextWindow(model, error.contextTokens);
        size = Math.min(size / 2, promptBudget(error.contextTokens ?? Number.POSITIVE_INFINITY));
      }
    }
  }

  /** Estimated tokens that the prompt may have, so that what is left pays for the answer too. */
  #paidPrompt({ modelId }: LanguageModel, { tokensLeft }: ModelRequest): number {
    if (tokensLeft === undefined) return Number.POSITIVE_INFINITY;
    return (tokensLeft() - LEAST_ANSWER - FRAME) / (this.#scales.get(modelId) ?? FIRST_SCALE);
  }

  /** Bounds the answer to what the prompt leaves of the budget. */
  #cap({ modelId }: LanguageModel, { tokensLeft }: ModelRequest, prompt: number): Partial<CallOptions> {
    const left = tokensLeft?.() ?? Number.POSITIVE_INFINITY;
    if (left === Number.POSITIVE_INFINITY) return {};
    const sent = prompt * (this.#scales.get(modelId) ?? FIRST_SCALE) + FRAME;
    return { maxOutputTokens: Math.max(1, Math.floor(left - sent)) };
  }

  /** Learns from what the endpoint counted how far our estimates are off. */
  #calibrate({ modelId }: LanguageModel, counted: number, estimated: number): void {
    const seen = (counted - FRAME) / Math.max(1, estimated);
    this.#scales.set(modelId, Math.max(1.05 * seen, this.#scales.get(modelId) ?? 1.1));
  }

  async #callOnce(
    model: LanguageModel,
    {
      instructions,
      prompt,
      estimated,
      signal,
      onSpent,
      principal,
      onShortened,
      onNote,
    }: ModelRequest & { estimated: number },
    extra: Partial<CallOptions>,
  ): Promise<string> {
    const { text, usage, finishReason } = await this.#stream(
      model,
      { signal, onNote },
      {
        prompt: [
          { role: 'system', content: instructions },
          { role: 'user', content: [{ type: 'text', text: prompt }] },
        ],
        ...extra,
      },
    );
    const counts = countsOf(usage, `${instructions}${prompt}`, text);
    this.#calibrate(model, counts.inputTokens, estimated);
    const costUsd = this.#costOf(model, counts);
    const tokens = counts.inputTokens + counts.outputTokens;
    onSpent({ tokens, costUsd, isEstimated: counts.isEstimated });
    const { agent = '', pay } = this.#budgets ?? {};
    pay?.(principal, agent, costUsd ?? 0);
    if (finishReason === 'content-filter') throw new ModelError('content-filter');
    const isCut = extra.maxOutputTokens !== undefined && finishReason === 'length';
    if (!isCut || extra.responseFormat !== undefined) return text;
    onShortened?.('the token budget was short');
    return wholeSentences(text);
  }

  /** A whole answer, read as it streams: a slow model is given up only when nothing comes any more. */
  async #stream(
    model: LanguageModel,
    { signal, onNote }: Pick<ModelRequest, 'signal' | 'onNote'>,
    call: CallOptions,
  ) {
    const timeoutMs = silenceLimitMs(model, this.#silentMs);
    const deadline = new Deadline({ timeoutMs, signal });
    const whole = { text: '', finishReason: 'other', usage: noUsage };
    try {
      const { stream } = await listenForWaits(
        ({ waitMs, message }) => {
          deadline.extend(waitMs);
          onNote?.(message);
        },
        () => model.doStream({ ...call, abortSignal: deadline.signal }),
      );
      for await (const part of stream) {
        deadline.extend();
        if (part.type === 'error') throw part.error;
        if (part.type === 'text-delta') whole.text += part.delta;
        if (part.type === 'finish') {
          whole.finishReason = part.finishReason.unified;
          whole.usage = part.usage;
        }
      }
      return whole;
    } catch (error) {
      if (!deadline.isExpired) throw error;
      const detail = `nothing came within ${formatDuration(timeoutMs)}; RESEARCH_MODEL_TIMEOUT_S sets the limit`;
      throw new ModelError('timeout', { detail });
    } finally {
      deadline.clear();
    }
  }

  #costOf({ modelId }: LanguageModel, counts: ReturnType<typeof countsOf>): number | undefined {
    return this.describe().demo ? 0 : costOf(this.#gateway.price(modelId), counts);
  }
}

/** Schemas are constants of this service, and describing one takes longer than checking an answer by it. */
const shapes = new WeakMap<z.ZodType, Record<string, unknown>>();

function shapeOf(schema: z.ZodType): Record<string, unknown> {
  const shape = shapes.get(schema) ?? (z.toJSONSchema(schema) as Record<string, unknown>);
  shapes.set(schema, shape);
  return shape;
}

/** Without the sentence at the end that was not finished. */
function wholeSentences(text: string): string {
  const [whole = ''] = /^[\s\S]*[.!?…。！？](?:["'”’)]|\s*\[\d+\])*(?=\s|$)/u.exec(text) ?? [];
  return whole;
}

type Counted = Record<'inputTokens' | 'outputTokens', { total: number | undefined }>;

const noUsage: Counted = { inputTokens: { total: undefined }, outputTokens: { total: undefined } };

/** What the endpoint counted, else an estimate. */
function countsOf(usage: Counted, sent: string, received: string) {
  const { total: input } = usage.inputTokens;
  const { total: output } = usage.outputTokens;
  return {
    inputTokens: input || estimateTokens(sent),
    outputTokens: output || estimateTokens(received),
    isEstimated: !input || (!output && received !== ''),
  };
}

/** The prompt with its passages, the paragraphs after the first, each cut to its share; the last are left out where that is too little. */
function fitPrompt(prompt: string, tokens: number): string {
  const [order = '', ...passages] = prompt.split('\n\n');
  const room = tokens - estimateTokens(order);
  const kept = passages.slice(0, Math.max(1, Math.floor(room / SHORTEST_PASSAGE)));
  // Sizes are shared from the shortest on, so that what it does not need is there for the others.
  const shares = new Map<string, number>();
  let left = room;
  for (const [index, passage] of kept.toSorted((a, b) => a.length - b.length).entries()) {
    const share = Math.min(estimateTokens(passage) + 2, left / (kept.length - index));
    shares.set(passage, share);
    left -= share;
  }
  return [order, ...kept.map((passage) => cutText(passage, (shares.get(passage) ?? 0) - 2, () => '…'))].join(
    '\n\n',
  );
}

/** The JSON object in an answer, whatever stands around it. */
function parseObject(text: string): unknown {
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (start === -1 || end <= start) return undefined;
  try {
    return JSON.parse(text.slice(start, end + 1));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
