import { setTimeout as delay } from 'node:timers/promises';
import type { Task } from '@trunkline/a2a';
import type { Bus } from '@trunkline/bus';
import type { Peers } from '../cluster/peers.ts';
import type { TaskReplica } from '../cluster/task-replica.ts';
import { onBehalfOf } from '../core/messages.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { SwitchboardOptions } from '../options.ts';
import { type Answer, listen } from './ask-skill.ts';
import type { Answers } from './parked-answers.ts';

interface ResumeDeps {
  bus: Bus;
  flows: FlowStore;
  peers: Peers;
  replica: Pick<TaskReplica, 'resultOf'>;
  options: Pick<SwitchboardOptions, 'skillTotalTimeoutMs'>;
}

const lookEveryMs = 10_000;
/** An end that is told twice and that no answer has followed was lost. */
const lostAfter = 2;
const marginMs = 60_000;
const lostWords = 'interrupted by server restart';

/**
 * The correlations that the request of a turn may have: that of the task, which the answer to an agent's question goes on
 * under, and for the answer to a remote agent's question that of a request of its own.
 */
export function correlationsOf(taskId: string, earlierMessages: number): string[] {
  return earlierMessages <= 0 ? [taskId] : [taskId, `${taskId}-${earlierMessages}`];
}

/**
 * Answers to a turn whose switchboard was stopped or is gone, while the work goes on at another, or at this one after its
 * start: listens on, until it is certain that none will come.
 */
export async function* resumedAnswers(task: Task, signal: AbortSignal, deps: ResumeDeps): Answers {
  const { bus, replica } = deps;
  const correlationId = correlationsOf(task.id, task.history.length - 1);
  const result = correlationId.map(replica.resultOf).find((known) => known !== undefined);
  if (result !== undefined) {
    yield { type: 'result', result };
    return;
  }
  const begin = async (give: (answer: Answer) => void) => void watch(task, correlationId, give, signal, deps);
  yield* listen(bus, { correlationId, signal, begin });
}

async function watch(
  task: Task,
  correlations: readonly string[],
  give: (answer: Answer) => void,
  signal: AbortSignal,
  { bus, flows, peers, options }: ResumeDeps,
): Promise<void> {
  const viewer = onBehalfOf(task.owner ?? 'anonymous', 'switchboard');
  const isOver = async (correlationId: string) => {
    const id = `skill-${correlationId}`;
    const found = [flows.get(id), ...(await peers.ask<{ status: string }>('flow', { id }, viewer))];
    const states = found.flatMap((flow) => (flow === undefined ? [] : [flow.status]));
    if (states.length > 0) return states.every((status) => status === 'complete');
    const query = { topic: 'agent.skill.request', correlationId, limit: 1 };
    // One that is stored and that nobody has begun waits for its agent.
    return (await bus.history(query)).length === 0;
  };
  for (let misses = 0; misses < lostAfter && !signal.aborted; ) {
    const isLate = Date.now() - task.updatedAt > options.skillTotalTimeoutMs + marginMs;
    try {
      const over = await Promise.all(correlations.map(isOver));
      misses = isLate || over.every(Boolean) ? misses + 1 : 0;
      if (misses < lostAfter) await delay(lookEveryMs, undefined, { signal });
    } catch {
      // Cancelled, or nobody can say it now.
      await delay(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }
  if (!signal.aborted)
    give({ type: 'result', result: { content: '', error: lostWords, taskState: 'failed' } });
}
