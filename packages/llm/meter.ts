import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { toModelError } from './error-translation.ts';
import type { ModelError } from './model-error.ts';
import { costOf, type ModelPrice } from './profiles/prices.ts';
import type { Logger } from './retry.ts';

/** One call that reached out to a model, retried ones counted singly. */
export interface ModelCall {
  model: string;
  finishReason: string | undefined;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
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

export interface Meter {
  firstToken(): void;
  /** Notes an error that did not end the stream at once. */
  note(error: ModelError): void;
  /** Reports the call; only the first report counts. */
  report(result: { finishReason?: string; usage?: LanguageModelV4Usage; error?: ModelError }): void;
}

/** Measures one call and reports it once. */
export function startMeter(model: string, options: MeterOptions): Meter {
  const start = performance.now();
  let firstTokenMs: number | undefined;
  let noted: ModelError | undefined;
  let reported = false;
  return {
    firstToken() {
      firstTokenMs ??= performance.now() - start;
    },
    note(error) {
      noted ??= error;
    },
    report({ finishReason, usage, error }) {
      if (reported) return;
      reported = true;
      const latencyMs = performance.now() - start;
      const counts = tokensOf(usage);
      const costUsd = costOf(options.priceOf(model), counts);
      const { inputTokens, outputTokens } = counts;
      tell(options, {
        model,
        finishReason,
        inputTokens,
        outputTokens,
        costUsd,
        latencyMs,
        firstTokenMs,
        error: error ?? noted,
      });
    },
  };
}

function tokensOf(usage: LanguageModelV4Usage | undefined) {
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
