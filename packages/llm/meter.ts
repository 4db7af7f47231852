import type { LanguageModelV4CallOptions, LanguageModelV4Usage } from '@ai-sdk/provider';
import { toModelError } from './error-translation.ts';
import { estimateTokens } from './estimate.ts';
import type { ModelError } from './model-error.ts';
import { costOf, type ModelPrice, type TokenCounts } from './profiles/prices.ts';
import type { Logger } from './retry.ts';

/** One call that reached out to a model, retried ones counted singly. */
export interface ModelCall {
  model: string;
  finishReason: string | undefined;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  /** The endpoint counted nothing, so these figures, and the cost, are our own estimate. */
  estimated?: true;
  /** Undefined when the price of the model is not known. */
  costUsd: number | undefined;
  latencyMs: number;
  firstTokenMs: number | undefined;
  error: ModelError | undefined;
}

export interface MeterOptions {
  onCall: ((call: ModelCall) => void) | undefined;
  priceOf(model: string): ModelPrice | undefined;
  logger: Logger | undefined;
}

/** What a model was asked, for an estimate. */
type Asked = Pick<LanguageModelV4CallOptions, 'prompt' | 'tools'>;

export interface Meter {
  firstToken(): void;
  /** Notes a piece of the answer. */
  wrote(text: string): void;
  /** Notes an error that did not end the stream at once. */
  note(error: ModelError): void;
  /** Reports the call; only the first report counts. */
  report(result: { finishReason?: string; usage?: LanguageModelV4Usage; error?: ModelError }): void;
}

/** Measures one call and reports it once. What the endpoint does not count is estimated, where `asked` is known. */
export function startMeter(model: string, options: MeterOptions, asked?: Asked): Meter {
  const start = performance.now();
  let firstTokenMs: number | undefined;
  let noted: ModelError | undefined;
  let written = '';
  let reported = false;
  return {
    firstToken() {
      firstTokenMs ??= performance.now() - start;
    },
    wrote(text) {
      written += text;
    },
    note(error) {
      noted ??= error;
    },
    report({ finishReason, usage, error }) {
      if (reported) return;
      reported = true;
      const latencyMs = performance.now() - start;
      const failure = error ?? noted;
      const told = tokensOf(usage);
      const counts = failure === undefined && asked ? completed(told, asked, written) : told;
      const costUsd = costOf(options.priceOf(model), counts);
      const { inputTokens, outputTokens, estimated } = counts;
      tell(options, {
        model,
        finishReason,
        inputTokens,
        outputTokens,
        ...(estimated && { estimated }),
        costUsd,
        latencyMs,
        firstTokenMs,
        error: failure,
      });
    },
  };
}

interface Counts extends TokenCounts {
  estimated?: true;
}

/** Some endpoints report zeros for everything, which says nothing. */
function completed(told: Counts, { prompt, tools }: Asked, written: string): Counts {
  const { inputTokens, outputTokens } = told.inputTokens ? told : {};
  if (inputTokens !== undefined && outputTokens !== undefined) return told;
  const offered = tools === undefined ? 0 : estimateTokens(JSON.stringify(tools));
  return {
    ...told,
    inputTokens: inputTokens ?? estimateTokens(prompt) + offered,
    outputTokens: outputTokens ?? estimateTokens(written),
    estimated: true,
  };
}

function tokensOf(usage: LanguageModelV4Usage | undefined): Counts {
  return {
    inputTokens: usage?.inputTokens.total,
    outputTokens: usage?.outputTokens.total,
    cachedInputTokens: usage?.inputTokens.cacheRead,
  };
}

/** A failing listener is logged: it must not spoil the turn. */
function tell({ onCall, logger }: MeterOptions, call: ModelCall): void {
  try {
    onCall?.(call);
  } catch (error) {
    logger?.warn({ reason: toModelError(error).message }, 'failed to report model call');
  }
}
