import { type Step, StepConflictError, type StepLog } from '@trunkline/loop';
import { untilAborted } from '@trunkline/std';
import { turnOfOwner } from '../agents/step-store.ts';
import type { TraceEntry } from '../api-types.ts';
import type { SharedFlow } from './flow-store.ts';

/** While NATS is away a read of steps waits for longer than anybody waits for a page. */
const readMs = 2000;

const words =
  'The switchboard that works on this does not answer. Here is what it has stored for the others; the rest of its trace is shown when it is back. If it is gone, another goes on with the work.';
const unreadWords = ' What its agent has done could not be read just now.';

/** The trace of open work whose switchboard does not answer, as far as the others know it. */
export async function knownTrace(
  { flow, messageId, owner }: SharedFlow,
  steps: Pick<StepLog, 'read'>,
): Promise<TraceEntry[]> {
  const { skill, createdAt, startedAt, targetAgent: agent, executorType: executor, updatedAt } = flow;
  const asked: TraceEntry = { at: createdAt, event: 'request', details: { skill } };
  const started = startedAt === null ? [] : [{ at: startedAt, event: 'start', details: { agent, executor } }];
  const done = agent === null ? [] : await stepsOf(turnOfOwner(agent, messageId, owner), steps);
  const entries = (done ?? []).flatMap(entriesOf);
  const text = done === undefined ? words + unreadWords : words;
  const at = Math.max(updatedAt, entries.at(-1)?.at ?? 0);
  return [asked, ...started, ...entries, { at, event: 'note', details: { text } }];
}

/** Undefined where they cannot be read now. */
async function stepsOf(turn: string, steps: Pick<StepLog, 'read'>): Promise<readonly Step[] | undefined> {
  try {
    return await untilAborted(steps.read(turn), AbortSignal.timeout(readMs));
  } catch (error) {
    return error instanceof StepConflictError ? [] : undefined;
  }
}

function entriesOf(step: Step): TraceEntry[] {
  if (step.kind === 'model')
    return step.calls.map(({ toolCallId, name, input }) => ({
      at: step.at,
      event: 'tool-start',
      details: { toolCallId, name, input },
    }));
  if (step.kind !== 'tool-end') return [];
  const { at, call: toolCallId, name, result } = step;
  return [
    { at, event: 'tool-end', details: { toolCallId, name, result, failed: result.startsWith('Error:') } },
  ];
}
