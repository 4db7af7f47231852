import type { HttpError } from '@trunkline/http';
import { ModelError } from '@trunkline/llm';
import { type ErrorEvent, runTurn, type TurnEvent } from '@trunkline/loop';
import type { Graph } from '../turns/graph.ts';
import { Spending } from '../turns/spending.ts';
import { subagentTools } from '../turns/subagents.ts';
import type { TurnObserver } from '../turns/turn-runner.ts';
import { withRequestSettings } from './call-settings.ts';
import { openAiErrors } from './errors.ts';
import { type CompletionRequest, callerTools, systemWords, toMessages } from './request.ts';

export interface CompletionSurroundings {
  graph(): Promise<Graph>;
  observers: readonly TurnObserver[];
}

/**
 * One turn for a caller who keeps the conversation. Nobody can be asked in the middle of it, so the tools that wait
 * for a person are left out; in their place the caller's own tools end the turn.
 */
export async function* completionTurn(
  request: CompletionRequest,
  signal: AbortSignal,
  { graph: compiled, observers }: CompletionSurroundings,
): AsyncGenerator<TurnEvent, void> {
  const graph = await compiled();
  // Apart from the sessions of A2A, whatever the caller chooses to call itself.
  const sessionId = `openai-${request.user || crypto.randomUUID()}`;
  const spending = new Spending(graph.limits);
  const observe = (event: TurnEvent) => {
    for (const observer of observers) observer.turnEvent?.(sessionId, event);
  };
  const own = callerTools(request);
  const running = graph.tools.filter(({ pause }) => pause !== true);
  const mine = [...running, ...subagentTools({ graph, spending, onEvent: observe })];
  const compaction = graph.compaction();
  const events = runTurn({
    model: withRequestSettings(graph.model(), request),
    instructions: [graph.instructions, systemWords(request)].filter(Boolean).join('\n\n'),
    tools: [...own, ...mine.filter(({ name }) => !own.some((tool) => tool.name === name))],
    limits: spending.limits,
    sessionId,
    signal,
    cost: graph.cost,
    messages: toMessages(request),
    ...(compaction && { compaction }),
  });
  for await (const event of events) {
    observe(event);
    yield event;
  }
}

interface Failure extends Pick<ErrorEvent, 'code' | 'message'> {
  retryAfterMs?: number | undefined;
}

/** A failed turn as the answer that tells it: the endpoint's rate limit as it is, everything else as a bad gateway. */
export function failureOf({ code, message, retryAfterMs }: Failure): HttpError {
  const kind = code === 'rate-limited' ? openAiErrors.rate_limit_error : openAiErrors.upstream_error;
  const seconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  return kind(
    { words: message },
    seconds === undefined ? {} : { headers: { 'retry-after': String(seconds) } },
  );
}

export function asFailure(error: unknown): unknown {
  return error instanceof ModelError ? failureOf(error) : error;
}
