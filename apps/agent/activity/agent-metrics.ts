import type { Task, TaskObserver } from '@trunkline/a2a';
import type { Metrics } from '@trunkline/http';
import type { ModelCall } from '@trunkline/llm';
import type { TurnObserver } from '../turns/turn-runner.ts';

export interface AgentMetrics {
  modelCall(call: ModelCall): void;
  turns: TurnObserver;
  tasks: TaskObserver;
}

/** The figures of `/metrics`, under the names that the contract gives them. */
export function createAgentMetrics(metrics: Metrics, knowsTool: (name: string) => boolean): AgentMetrics {
  const calls = metrics.counter('llm_calls_total', 'Calls of the model.', ['model', 'finish_reason']);
  const latency = metrics.histogram('llm_latency_seconds', 'Time of one model call.', ['model']);
  const tokens = metrics.counter('llm_tokens_total', 'Tokens in and out.', ['model', 'direction']);
  const cost = metrics.counter('llm_cost_usd_total', 'Dollars spent on model calls.', ['model']);
  const toolCalls = metrics.counter('tool_calls_total', 'Calls of tools.', ['tool_name', 'success']);
  const toolLatency = metrics.histogram('tool_latency_seconds', 'Time of one tool call.', ['tool_name']);
  const sessions = metrics.gauge('active_sessions', 'Sessions with a turn under way.');
  const turns = metrics.counter('a2a_turns_total', 'Turns of tasks by the state they ended in.', ['state']);
  const turnTime = metrics.histogram('a2a_turn_seconds', 'Time of one turn.');
  const startTimes = new Map<string, number>();
  return {
    modelCall({ model, finishReason, error, latencyMs, inputTokens, outputTokens, costUsd }) {
      calls.inc({ model, finish_reason: error?.code ?? finishReason ?? 'unknown' });
      latency.observe({ model }, latencyMs / 1000);
      tokens.inc({ model, direction: 'input' }, inputTokens ?? 0);
      tokens.inc({ model, direction: 'output' }, outputTokens ?? 0);
      cost.inc({ model }, costUsd ?? 0);
    },
    turns: {
      turnEvent(_session, event) {
        if (event.type !== 'tool-end') return;
        const tool_name = knowsTool(event.name) ? event.name : 'unknown';
        toolCalls.inc({ tool_name, success: String(!event.failed) });
        toolLatency.observe({ tool_name }, event.durationMs / 1000);
      },
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
