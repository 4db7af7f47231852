import type { TaskEngine } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import type { Answer } from './ask-skill.ts';

export type Answers = AsyncGenerator<Answer, void>;

type Listen = (signal: AbortSignal) => Answers;

/** Events for a task that waits for its caller. */
export interface Parked {
  answers: Answers;
  /** The first event that is not a frame: an agent that is being stopped still sends frames. */
  next: Promise<IteratorResult<Answer, void>>;
  ending: AbortController;
  /** The question was answered elsewhere, or nobody waits any more. */
  wentOn: boolean;
}

const mostParked = 1000;

/**
 * Keeps listening for tasks whose caller was asked. Anybody may answer an agent's question at the console or on a
 * surface, and an agent continues by itself when nobody does: the task then continues without its caller.
 */
export function createParkedAnswers(logger: Logger) {
  const waiting = new Map<string, Parked>();
  let attached: Pick<TaskEngine, 'peek' | 'start' | 'list'> | undefined;

  /** Resumes listening for tasks that waited before the start. */
  function attach(
    engine: Pick<TaskEngine, 'peek' | 'start' | 'list'>,
    listen: (taskId: string) => Listen,
  ): void {
    attached = engine;
    const { tasks } = engine.list({ state: 'input-required', pageSize: 100 });
    for (const { id, runner } of tasks) {
      // Whoever asked listens for it.
      if (runner !== undefined) continue;
      const ending = new AbortController();
      keep(id, listen(id)(ending.signal), ending);
    }
  }

  function keep(taskId: string, answers: Answers, ending: AbortController): void {
    const parked: Parked = { answers, next: pastFrames(answers), ending, wentOn: false };
    waiting.set(taskId, parked);
    parked.next.then(
      (next) => goOn(taskId, parked, next.done === true),
      (error: unknown) => drop(taskId, parked, error),
    );
    const [oldest] = waiting.keys();
    if (waiting.size > mostParked && oldest !== undefined) take(oldest)?.ending.abort();
  }

  /** Whether the task continued while it waited. */
  function wentOn(taskId: string): boolean {
    return waiting.get(taskId)?.wentOn === true;
  }

  function take(taskId: string): Parked | undefined {
    const parked = waiting.get(taskId);
    waiting.delete(taskId);
    return parked;
  }

  function goOn(taskId: string, parked: Parked, isOver: boolean): void {
    if (waiting.get(taskId) !== parked) return;
    const isParked = attached?.peek(taskId)?.state === 'input-required';
    if (isOver || !isParked) {
      drop(taskId, parked);
      return;
    }
    parked.wentOn = true;
    const parts = [{ type: 'text', text: 'The agent went on: the question was settled elsewhere.' }] as const;
    const message = { messageId: crypto.randomUUID(), role: 'user', parts, taskId } as const;
    try {
      attached?.start({ message, metadata: {}, principal: anonymous, strict: true });
    } catch (error) {
      drop(taskId, parked, error);
    }
  }

  function drop(taskId: string, parked: Parked, error?: unknown): void {
    if (waiting.get(taskId) === parked) waiting.delete(taskId);
    parked.ending.abort();
    if (error !== undefined) logger.warn({ err: error, taskId }, 'failed to resume waiting task');
  }

  return { attach, keep, wentOn, take };
}

export type ParkedAnswers = ReturnType<typeof createParkedAnswers>;

async function pastFrames(answers: Answers): Promise<IteratorResult<Answer, void>> {
  let next = await answers.next();
  while (next.done !== true && next.value.type === 'frame') next = await answers.next();
  return next;
}
