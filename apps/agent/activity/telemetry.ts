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

/** What happened in one minute, all models together. */
interface Minute {
  /** Its beginning, in milliseconds. */
  at: number;
  calls: number;
  errors: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  latencies: number[];
}

const keptLatencies = 500;
const keptPerMinute = 200;
const minuteMs = 60_000;
const keptMinutes = 24 * 60;

/** Cost and latency since the start, by model. */
export class Telemetry {
  readonly #since = new Date().toISOString();
  readonly #models = new Map<string, ModelFigures>();
  /** Only minutes in which something happened. */
  readonly #minutes: Minute[] = [];
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  record(call: ModelCall): void {
    this.#recordMinute(call);
    this.#recordModel(call);
  }

  /** Cost, tokens and latency over the last minutes, in steps of equal length; steps without a call are there too. */
  series(minutes: number, steps: number) {
    const stepMs = (minutes * minuteMs) / steps;
    const from = this.#now() - minutes * minuteMs;
    return {
      step_ms: stepMs,
      points: Array.from({ length: steps }, (_, step) => {
        const start = from + step * stepMs;
        const held = this.#minutes.filter(({ at }) => at >= start && at < start + stepMs);
        return { at: new Date(start).toISOString(), ...sumOf(held) };
      }),
    };
  }

  #recordMinute({ error, inputTokens, outputTokens, costUsd, latencyMs }: ModelCall): void {
    const at = Math.floor(this.#now() / minuteMs) * minuteMs;
    const last = this.#minutes.at(-1);
    const minute = last?.at === at ? last : emptyMinute(at);
    if (minute !== last) this.#minutes.push(minute);
    if (this.#minutes.length > keptMinutes) this.#minutes.shift();
    minute.calls += 1;
    minute.errors += error === undefined ? 0 : 1;
    minute.inputTokens += inputTokens ?? 0;
    minute.outputTokens += outputTokens ?? 0;
    minute.costUsd += costUsd ?? 0;
    if (minute.latencies.length < keptPerMinute) minute.latencies.push(latencyMs);
  }

  #recordModel({ model, error, inputTokens, outputTokens, costUsd, latencyMs }: ModelCall): void {
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

function emptyMinute(at: number): Minute {
  return { at, calls: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, latencies: [] };
}

function sumOf(minutes: readonly Minute[]) {
  const total = (read: (minute: Minute) => number) => minutes.reduce((sum, minute) => sum + read(minute), 0);
  const latencies = minutes.flatMap((minute) => minute.latencies).sort((left, right) => left - right);
  return {
    calls: total(({ calls }) => calls),
    errors: total(({ errors }) => errors),
    input_tokens: total(({ inputTokens }) => inputTokens),
    output_tokens: total(({ outputTokens }) => outputTokens),
    cost_usd: total(({ costUsd }) => costUsd),
    latency_ms:
      latencies.length === 0 ? null : { p50: quantile(latencies, 0.5), p95: quantile(latencies, 0.95) },
  };
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
