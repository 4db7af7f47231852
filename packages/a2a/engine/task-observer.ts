import type { Logger } from '../protocol/logger.ts';
import type { Task, TaskEvent } from '../protocol/model.ts';
import type { LiveTask } from './live-task.ts';

/** Told of everything that happens to tasks. */
export interface TaskObserver {
  /** A turn begins: the task is new, or it was answered. */
  turnStarted?(task: Task, isNew: boolean): void;
  taskEvent?(live: LiveTask, event: TaskEvent): void;
  /** The task waits for its caller or has ended. */
  turnEnded?(task: Task): void;
  /** A new task could not be written; no turn of it was started. */
  taskDropped?(id: string): void;
}

export class TaskObservers {
  readonly #observers: TaskObserver[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add(observer: TaskObserver): void {
    this.#observers.push(observer);
  }

  /** One that fails, on a full disk for instance, keeps neither the task nor the others from going on. */
  tell(news: (observer: TaskObserver) => void): void {
    for (const observer of this.#observers) {
      try {
        news(observer);
      } catch (error) {
        this.#logger.error({ err: error }, 'an observer of tasks failed');
      }
    }
  }
}
