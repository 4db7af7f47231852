import type { HttpError } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { ModelError } from '@trunkline/llm';
import { type ErrorEvent, runTurn, type TurnEvent } from '@trunkline/loop';
import { actingFor } from '../approvals/approvals.ts';
import type { Graph } from '../turns/graph.ts';
import { withoutQuestions } from '../turns/human-tools.ts';
import type { ScopeRequest } from '../turns/memory-scope.ts';
import { Spending } from '../turns/spending.ts';
import { subagentTools } from '../turns/subagents.ts';
import type { TurnObserver } from '../turns/turn-runner.ts';
import { withRequestSettings } from './call-settings.ts';
import { openAiErrors } from './errors.ts';
import { type CompletionRequest, callerTools, systemWords, toMessages } from './request.ts';

export interface CompletionSurroundings {
  graph(): Promise<Graph>;
  observers: readonly TurnObserver[];
  /** Whose memories a turn may use. */
  scopeOf(request: ScopeRequest): string;
}

/**
 * One turn for a caller who keeps the conversation. Nobody can be asked in the middle of it, so the tools that wait
 * for a person are left out; in their place the caller's own tools end the turn.
 */
export async function* completionTurn(
  request: CompletionRequest,
  asker: Principal,
  signal: AbortSignal,
  { graph: compiled, observers, scopeOf }: CompletionSurroundings,
): AsyncGenerator<TurnEvent, void> {
  const graph = await compiled();
  // Apart from the sessions of A2A, whatever the caller chooses to call itself.
  const sessionId = `openai-${request.user || crypto.randomUUID()}`;
  const principal = actingFor(asker);
  const scope = scopeOf({ principal, sessionId, user: request.user ?? undefined });
  const spending = new Spending(graph.limits);
  const observe = (event: TurnEvent) => {
    for (const observer of observers) observer.turnEvent?.(sessionId, event);
  };
  const own = callerTools(request);
  const mine = [...withoutQuestions(graph.tools), ...subagentTools({ graph, spending, onEvent: observe })];
  const compaction = graph.compaction();
  const events = runTurn({
    model: withRequestSettings(graph.model(), request),
    instructions: [graph.instructions, systemWords(request)].filter(Boolean).join('\n\n'),
    tools: [...own, ...mine.filter(({ name }) => !own.some((tool) => tool.name === name))],
    limits: spending.limits,
    sessionId,
    principal,
    scope,
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
