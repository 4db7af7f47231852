import type { Principal } from '@trunkline/identity';
import { costOf, ModelError, type ModelGateway } from '@trunkline/llm';
import type { TurnPolicy } from '@trunkline/loop';
import { ConcurrencyLimiter } from '@trunkline/std';
import { z } from 'zod';
import { researchErrors } from '../errors.ts';
import type { Spending } from '../store/jobs.ts';

type LanguageModel = ReturnType<ModelGateway['languageModel']>;
type CallOptions = Parameters<LanguageModel['doGenerate']>[0];

export interface ModelRequest {
  instructions: string;
  prompt: string;
  signal: AbortSignal;
  /** Which model gives an object; the fast one by default. */
  by?: 'judge' | 'fast';
  /** Whose budget pays. */
  principal: Principal;
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

  constructor(gateway: ModelGateway, callsAtOnce: number, budgets?: ModelBudgets) {
    this.#gateway = gateway;
    this.#budgets = budgets;
    this.#limiter = new ConcurrencyLimiter({ limit: callsAtOnce });
  }

  describe(): { name: string; demo: boolean } {
    const { name, demo } = this.#gateway.describe();
    return { name, demo };
  }

  /** An object of the schema's shape; undefined when the model gives none in two attempts. */
  async object<Shape>(schema: z.ZodType<Shape>, request: ModelRequest): Promise<Shape | undefined> {
    const shape = z.toJSONSchema(schema) as Record<string, unknown>;
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

  /** A text by the main model. */
  text(request: ModelRequest): Promise<string> {
    return this.#call(this.#gateway.languageModel(), request, {});
  }

  /** Some endpoints refuse a schema in the request: then the words of the second attempt have to do. */
  async #attempt(mayRefuse: boolean, request: ModelRequest, extra: Partial<CallOptions>): Promise<string> {
    try {
      const model = request.by === 'judge' ? this.#gateway.judgeModel() : this.#gateway.fastModel();
      return await this.#call(model, request, extra);
    } catch (error) {
      if (mayRefuse && error instanceof ModelError && error.code === 'bad-request') return '';
      throw error;
    }
  }

  #call(model: LanguageModel, request: ModelRequest, extra: Partial<CallOptions>): Promise<string> {
    const { instructions, prompt, signal, onSpent, principal } = request;
    const { agent = '', outOfMoney, pay } = this.#budgets ?? {};
    const call = async () => {
      const spent = outOfMoney?.(principal, agent);
      if (spent !== undefined) throw researchErrors.budget_spent({ spent });
      const result = await model.doGenerate({
        prompt: [
          { role: 'system', content: instructions },
          { role: 'user', content: [{ type: 'text', text: prompt }] },
        ],
        abortSignal: signal,
        ...extra,
      });
      const text = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
      const counts = countsOf(result.usage, instructions.length + prompt.length, text.length);
      const costUsd = this.#costOf(model, counts);
      onSpent({ tokens: counts.inputTokens + counts.outputTokens, costUsd });
      pay?.(principal, agent, costUsd ?? 0);
      return text;
    };
    return this.#limiter.run(call, { signal });
  }

  #costOf({ modelId }: LanguageModel, counts: ReturnType<typeof countsOf>): number | undefined {
    return this.describe().demo ? 0 : costOf(this.#gateway.price(modelId), counts);
  }
}

/** What the endpoint counted, else an estimate by length. */
function countsOf(
  usage: { inputTokens: { total: number | undefined }; outputTokens: { total: number | undefined } },
  sent: number,
  received: number,
) {
  return {
    inputTokens: usage.inputTokens.total ?? Math.ceil(sent / 4),
    outputTokens: usage.outputTokens.total ?? Math.ceil(received / 4),
  };
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
