import type { ModelCall } from '@trunkline/llm';

interface ModelFigures {
  calls: number;
  errors: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  /** Calls whose price is not known, so that the cost is at least what is said. */
  unpriced: number;
  latencies: number[];
}

const keptLatencies = 500;

/** Cost and latency since the start, by model. */
export class Telemetry {
  readonly #since = new Date().toISOString();
  readonly #models = new Map<string, ModelFigures>();

  record({ model, error, inputTokens, outputTokens, costUsd, latencyMs }: ModelCall): void {
    const figures = this.#models.get(model) ?? emptyFigures();
    this.#models.set(model, figures);
    figures.calls += 1;
    figures.errors += error === undefined ? 0 : 1;
    figures.inputTokens += inputTokens ?? 0;
    figures.outputTokens += outputTokens ?? 0;
    figures.costUsd += costUsd ?? 0;
    figures.unpriced += costUsd === undefined && error === undefined ? 1 : 0;
    figures.latencies.push(latencyMs);
    if (figures.latencies.length > keptLatencies) figures.latencies.shift();
  }

  report() {
    const models = [...this.#models].map(([model, figures]) => ({ model, ...summaryOf(figures) }));
    const costUsd = models.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
    return { since: this.#since, cost_usd: costUsd, models };
  }
}

function emptyFigures(): ModelFigures {
  return { calls: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, unpriced: 0, latencies: [] };
}

function summaryOf({ latencies, ...figures }: ModelFigures) {
  const sorted = [...latencies].sort((left, right) => left - right);
  return {
    calls: figures.calls,
    errors: figures.errors,
    input_tokens: figures.inputTokens,
    output_tokens: figures.outputTokens,
    cost_usd: figures.costUsd,
    calls_without_price: figures.unpriced,
    latency_ms: { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) },
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}
