import type { AgentLimiter } from './agent-limiter.ts';
import type { SkillExecutor } from './executor.ts';
import { isPending } from './registry.ts';
import type { Dispatch } from './request.ts';

/** Requests that are taken on at once, of all agents together. */
export const atOnce = 1024;
/** From so many on, all goes to the queue of its agent: there is always room to hand it on. */
const queuedFrom = 768;

/** Doors at which the one who asked waits, and may be an agent that holds a place here meanwhile. */
const awaitedInterfaces: ReadonlySet<string> = new Set(['a2a', 'openai']);

export interface Situation {
  limiter: AgentLimiter;
  /** Requests that are being taken on or worked on now, besides those from queues. */
  taken: number;
  /** When this process began, in milliseconds since 1970. */
  startedAt: number;
}

/** Why an accepted request waits in the queue of its agent; undefined when it can be taken on. */
export function reasonToQueue(
  executor: SkillExecutor,
  dispatch: Dispatch,
  { limiter, taken, startedAt }: Situation,
): string | undefined {
  const { agent } = executor;
  if (isPending(executor, dispatch.skill)) return `${agent} has not answered since the start`;
  if (taken > queuedFrom) return 'too much work is under way';
  if (isAwaitedBySomebody(dispatch, startedAt) || !limiter.isCrowded(agent)) return undefined;
  return `${agent} has more to do than it can take on (SWITCHBOARD_EXECUTOR_CONCURRENCY)`;
}

/** Whoever waited for what was asked before the start is gone. */
export function isAwaitedBySomebody({ message }: Dispatch, startedAt: number): boolean {
  return awaitedInterfaces.has(message.source?.interface ?? '') && message.timestamp >= startedAt;
}
