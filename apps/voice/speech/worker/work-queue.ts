import { BoundedMap } from '@trunkline/std';
import { SpeechError } from '../speech-error.ts';

/** How work waits. */
export interface WorkPriority {
  /** Goes before work that is not urgent. */
  urgent?: boolean;
  /** The call that it is for: calls take turns. Work without one is served in the order it came. */
  caller?: string | undefined;
  /** Only a guess, such as an interim transcript: it goes last, and is dropped first when there is too much to do. */
  droppable?: boolean;
}

export interface Task extends WorkPriority {
  id: number;
  work: unknown;
  result: PromiseWithResolvers<unknown>;
}

const mostCallersRemembered = 1000;

/** Work that waits for a thread: urgent work first, guesses last, and in each rank the caller who was served longest ago. */
export class WorkQueue {
  readonly #waiting: Task[] = [];
  /** When callers were last served, counted in tasks. */
  readonly #servedAt = new BoundedMap<string, number>(mostCallersRemembered);
  #served = 0;

  get length(): number {
    return this.#waiting.length;
  }

  get hasMoreThanGuesses(): boolean {
    return this.#waiting.some(({ droppable }) => !droppable);
  }

  /** Who waits or is served now, without guesses; work without a caller counts as one of its own. */
  callers(running: readonly (Task | undefined)[]): number {
    const tasks = [...running, ...this.#waiting].filter((task) => task !== undefined && !task.droppable);
    return new Set(tasks.map((task) => task?.caller ?? task)).size;
  }

  add(task: Task): void {
    this.#waiting.push(task);
  }

  /** Takes out the next task. */
  next(): Task | undefined {
    const [first, ...others] = this.#waiting;
    if (first === undefined) return undefined;
    const next = others.reduce((best, task) => (this.#isBefore(task, best) ? task : best), first);
    this.remove(next);
    this.#served += 1;
    if (next.caller !== undefined) this.#servedAt.set(next.caller, this.#served);
    return next;
  }

  remove(task: Task): boolean {
    const place = this.#waiting.indexOf(task);
    if (place >= 0) this.#waiting.splice(place, 1);
    return place >= 0;
  }

  /** Drops the oldest guess, that of the caller if there is one, when so many wait. */
  dropGuess(most: number, caller?: string): void {
    const guesses = this.#waiting.filter(({ droppable }) => droppable);
    if (guesses.length < most) return;
    const [oldest] = guesses;
    const dropped = guesses.find((task) => caller !== undefined && task.caller === caller) ?? oldest;
    if (dropped === undefined) return;
    this.remove(dropped);
    dropped.result.reject(droppedError());
  }

  rejectAll(reason: SpeechError): void {
    for (const task of this.#waiting.splice(0)) task.result.reject(reason);
  }

  /** Of two that are equal, the one that came first stays first. */
  #isBefore(task: Task, other: Task): boolean {
    const ranks = rankOf(task) - rankOf(other);
    if (ranks !== 0) return ranks < 0;
    if (task.caller === undefined || other.caller === undefined) return false;
    return (this.#servedAt.get(task.caller) ?? 0) < (this.#servedAt.get(other.caller) ?? 0);
  }
}

function rankOf({ urgent = false, droppable = false }: Task): number {
  if (droppable) return 2;
  return urgent ? 0 : 1;
}

export function droppedError(): SpeechError {
  return new SpeechError('dropped', 'a guess was dropped for work that callers wait for');
}
