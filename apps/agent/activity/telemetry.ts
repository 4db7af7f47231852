import type { Task, TaskObserver } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import type { Metrics } from '@trunkline/http';
import type { ModelCall } from '@trunkline/llm';
import type { Database } from '@trunkline/storage';
import type { ObserveTurn } from '../turns/turn-runner.ts';

interface StoredCall {
  at: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  latency_ms: number;
  estimated: number;
}

interface ModelSum {
  model: string;
  calls: number;
  errors: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  calls_without_price: number;
  /** Calls whose tokens the endpoint did not count. */
  calls_estimated: number;
}

const minuteMs = 60_000;
const keptMs = 31 * 24 * 60 * minuteMs;
const maxKept = 200_000;
/** Old calls are looked for once in so many. */
const trimEvery = 500;
/** How many of the last calls of a model tell its latency. */
const latencyCalls = 500;
const sums = `SELECT model, count(*) AS calls, sum(failed) AS errors,
  sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
  coalesce(sum(cost_usd), 0) AS cost_usd, sum(cost_usd IS NULL AND failed = 0) AS calls_without_price,
  sum(estimated) AS calls_estimated
  FROM model_call GROUP BY model ORDER BY min(number)`;

/** Cost and latency of model calls in the last month; survives restarts. */
export class Telemetry {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #openedAt: number;

  constructor(database: Database, logger: Logger, now: () => number = Date.now) {
    this.#database = database;
    this.#logger = logger;
    this.#now = now;
    this.#openedAt = now();
  }

  /** A turn does not fail when its figures cannot be stored. */
  record(call: ModelCall): void {
    try {
      this.#insert(call);
    } catch (error) {
      this.#logger.warn({ err: error, model: call.model }, 'failed to store model call');
    }
  }

  /** Cost, tokens and latency over the last minutes, in steps of equal length; steps without a call are there too. */
  series(minutes: number, steps: number) {
    const stepMs = (minutes * minuteMs) / steps;
    const from = this.#now() - minutes * minuteMs;
    const held = Array.from({ length: steps }, (): StoredCall[] => []);
    for (const call of this.#callsSince(from))
      held[Math.min(steps - 1, Math.floor((call.at - from) / stepMs))]?.push(call);
    return {
      step_ms: stepMs,
      points: held.map((calls, step) => ({
        at: new Date(from + step * stepMs).toISOString(),
        ...sumOf(calls),
      })),
    };
  }

  report() {
    const models = this.#database
      .prepare<ModelSum>(sums)
      .all()
      .map((sum) => ({ ...sum, latency_ms: quantiles(this.#latenciesOf(sum.model)) }));
    const costUsd = models.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
    return { since: new Date(this.#since()).toISOString(), cost_usd: costUsd, models };
  }

  #insert({ model, error, inputTokens, outputTokens, estimated, costUsd, latencyMs }: ModelCall): void {
    const { lastInsertRowid } = this.#database
      .prepare(
        `INSERT INTO model_call (at, model, failed, input_tokens, output_tokens, estimated, cost_usd, latency_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        this.#now(),
        model,
        error === undefined ? 0 : 1,
        inputTokens ?? 0,
        outputTokens ?? 0,
        estimated ? 1 : 0,
        costUsd ?? null,
        latencyMs,
      );
    if (lastInsertRowid % trimEvery === 0) this.#trim(lastInsertRowid);
  }

  #trim(newest: number): void {
    this.#database
      .prepare('DELETE FROM model_call WHERE at < ? OR number <= ?')
      .run(this.#now() - keptMs, newest - maxKept);
  }

  #callsSince(from: number): StoredCall[] {
    const sql = `SELECT at, failed, input_tokens, output_tokens, cost_usd, latency_ms, estimated
      FROM model_call WHERE at BETWEEN ? AND ?`;
    return this.#database.prepare<StoredCall>(sql).all(from, this.#now());
  }

  #latenciesOf(model: string): number[] {
    const sql = 'SELECT latency_ms FROM model_call WHERE model = ? ORDER BY number DESC LIMIT ?';
    return this.#database
      .prepare<{ latency_ms: number }>(sql)
      .all(model, latencyCalls)
      .map(({ latency_ms }) => latency_ms);
  }

  #since(): number {
    const oldest = this.#database
      .prepare<{ at: number | null }>('SELECT min(at) AS at FROM model_call')
      .get();
    return oldest?.at ?? this.#openedAt;
  }
}

function sumOf(calls: readonly StoredCall[]) {
  const total = (read: (call: StoredCall) => number) => calls.reduce((sum, call) => sum + read(call), 0);
  return {
    calls: calls.length,
    errors: total(({ failed }) => failed),
    input_tokens: total(({ input_tokens }) => input_tokens),
    output_tokens: total(({ output_tokens }) => output_tokens),
    cost_usd: total(({ cost_usd }) => cost_usd ?? 0),
    calls_estimated: total(({ estimated }) => estimated),
    latency_ms: calls.length === 0 ? null : quantiles(calls.map(({ latency_ms }) => latency_ms)),
  };
}

function quantiles(latencies: number[]): { p50: number; p95: number } {
  const sorted = latencies.sort((left, right) => left - right);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { p50: at(0.5), p95: at(0.95) };
}

interface AgentMetrics {
  modelCall(call: ModelCall): void;
  turns: ObserveTurn;
  tasks: TaskObserver;
}

/** The figures of `/metrics`, under the names that the contract gives them. */
export function createAgentMetrics(metrics: Metrics, knowsTool: (name: string) => boolean): AgentMetrics {
  const calls = metrics.counter('llm_calls_total', 'Calls of the model.', ['model', 'finish_reason']);
  const latency = metrics.histogram('llm_latency_seconds', 'Time of one model call.', ['model']);
  const tokens = metrics.counter('llm_tokens_total', 'Tokens in and out.', ['model', 'direction']);
  const guesses = metrics.counter('llm_calls_estimated_total', 'Calls whose tokens were estimated.', [
    'model',
  ]);
  const cost = metrics.counter('llm_cost_usd_total', 'Dollars spent on model calls.', ['model']);
  const toolCalls = metrics.counter('tool_calls_total', 'Calls of tools.', ['tool_name', 'success']);
  const toolLatency = metrics.histogram('tool_latency_seconds', 'Time of one tool call.', ['tool_name']);
  const sessions = metrics.gauge('active_sessions', 'Sessions with a turn under way.');
  const turns = metrics.counter('a2a_turns_total', 'Turns of tasks by the state they ended in.', ['state']);
  const turnTime = metrics.histogram('a2a_turn_seconds', 'Time of one turn.');
  const startTimes = new Map<string, number>();
  return {
    modelCall({ model, finishReason, error, latencyMs, inputTokens, outputTokens, estimated, costUsd }) {
      calls.inc({ model, finish_reason: error?.code ?? finishReason ?? 'unknown' });
      latency.observe({ model }, latencyMs / 1000);
      tokens.inc({ model, direction: 'input' }, inputTokens ?? 0);
      tokens.inc({ model, direction: 'output' }, outputTokens ?? 0);
      if (estimated) guesses.inc({ model });
      cost.inc({ model }, costUsd ?? 0);
    },
    turns(_session, event) {
      if (event.type !== 'tool-end') return;
      const tool_name = knowsTool(event.name) ? event.name : 'unknown';
      toolCalls.inc({ tool_name, success: String(!event.failed) });
      toolLatency.observe({ tool_name }, event.durationMs / 1000);
    },
    tasks: {
      turnStarted({ id }: Task) {
        startTimes.set(id, performance.now());
        sessions.set(startTimes.size);
      },
      turnEnded({ id, state }: Task) {
        const start = startTimes.get(id);
        startTimes.delete(id);
        sessions.set(startTimes.size);
        turns.inc({ state });
        if (start !== undefined) turnTime.observe((performance.now() - start) / 1000);
      },
    },
  };
}
