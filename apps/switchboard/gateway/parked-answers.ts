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
export class ParkedAnswers {
  readonly #logger: Logger;
  readonly #parked = new Map<string, Parked>();
  #engine: Pick<TaskEngine, 'peek' | 'start' | 'list'> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Resumes listening for tasks that waited before the start. */
  attach(engine: Pick<TaskEngine, 'peek' | 'start' | 'list'>, listen: (taskId: string) => Listen): void {
    this.#engine = engine;
    const { tasks } = engine.list({ state: 'input-required', pageSize: 100 });
    for (const { id } of tasks) {
      const ending = new AbortController();
      this.keep(id, listen(id)(ending.signal), ending);
    }
  }

  keep(taskId: string, answers: Answers, ending: AbortController): void {
    const parked: Parked = { answers, next: pastFrames(answers), ending, wentOn: false };
    this.#parked.set(taskId, parked);
    parked.next.then(
      (next) => this.#goOn(taskId, parked, next.done === true),
      (error: unknown) => this.#drop(taskId, parked, error),
    );
    const [oldest] = this.#parked.keys();
    if (this.#parked.size > mostParked && oldest !== undefined) this.take(oldest)?.ending.abort();
  }

  /** Whether the task continued while it waited. */
  wentOn(taskId: string): boolean {
    return this.#parked.get(taskId)?.wentOn === true;
  }

  take(taskId: string): Parked | undefined {
    const parked = this.#parked.get(taskId);
    this.#parked.delete(taskId);
    return parked;
  }

  #goOn(taskId: string, parked: Parked, isOver: boolean): void {
    if (this.#parked.get(taskId) !== parked) return;
    const isParked = this.#engine?.peek(taskId)?.state === 'input-required';
    if (isOver || !isParked) {
      this.#drop(taskId, parked);
      return;
    }
    parked.wentOn = true;
    const parts = [{ type: 'text', text: 'The agent went on: the question was settled elsewhere.' }] as const;
    const message = { messageId: crypto.randomUUID(), role: 'user', parts, taskId } as const;
    try {
      this.#engine?.start({ message, metadata: {}, principal: anonymous, strict: true });
    } catch (error) {
      this.#drop(taskId, parked, error);
    }
  }

  #drop(taskId: string, parked: Parked, error?: unknown): void {
    if (this.#parked.get(taskId) === parked) this.#parked.delete(taskId);
    parked.ending.abort();
    if (error !== undefined) this.#logger.warn({ err: error, taskId }, 'failed to resume waiting task');
  }
}

async function pastFrames(answers: Answers): Promise<IteratorResult<Answer, void>> {
  let next = await answers.next();
  while (next.done !== true && next.value.type === 'frame') next = await answers.next();
  return next;
}
