import type { Clock, Timer } from '@trunkline/schedule';
import type { Logger } from '../protocol/model.ts';
import type { LiveTask } from './live-task.ts';
import type { TaskStore } from './task-store.ts';

/** Events of a running task may wait this long, as a crash would fail the task anyway. */
const eventDelayMs = 250;
const retryDelayMs = 1000;

/** Gathers what many tasks have to write into one transaction per turn of the event loop. */
export class TaskWriter {
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #tasks = new Map<string, LiveTask>();
  #events = new Map<string, LiveTask>();
  /** Resolves with whether the tasks that wait now were stored. */
  #batch: PromiseWithResolvers<boolean> | undefined;
  #eventTimer: Timer | undefined;

  constructor(store: TaskStore, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Resolves when the task and its events are on disk: with false when they could not be written. */
  saveTask(task: LiveTask): Promise<boolean> {
    this.#tasks.set(task.id, task);
    if (this.#batch === undefined) {
      this.#batch = Promise.withResolvers();
      setImmediate(() => this.#writeTasks());
    }
    return this.#batch.promise;
  }

  /** Nothing of this task is to be kept. */
  forget(id: string): void {
    this.#tasks.delete(id);
    this.#events.delete(id);
  }

  saveEventsSoon(task: LiveTask): void {
    this.#events.set(task.id, task);
    this.#eventTimer ??= this.#clock.setTimer(eventDelayMs, () => this.#writeEvents());
  }

  /** Writes the events of one task now, so that they can be read back. */
  saveEventsNow(task: LiveTask): void {
    if (task.stored && task.unsaved().length === 0) return;
    this.#events.delete(task.id);
    const save = () => (task.stored ? this.#store.saveEvents(task.id, task.unsaved()) : this.#save(task));
    if (!this.#write([task], save) && task.stored)
      this.#clock.setTimer(retryDelayMs, () => this.saveEventsSoon(task));
  }

  /** What is on disk of this task is not its newest form. */
  holds(id: string): boolean {
    return this.#tasks.has(id) || this.#events.has(id);
  }

  /** Writes all that waits. */
  flush(): void {
    this.#writeTasks();
    this.#writeEvents();
  }

  #writeTasks(): void {
    const batch = this.#batch;
    this.#batch = undefined;
    const tasks = [...this.#tasks.values()];
    // A new map, as one that is cleared stays linked to the old one with all that was in it (`Roster` of std says why).
    this.#tasks = new Map();
    const stored = this.#write(tasks, (task) => {
      this.#events.delete(task.id);
      this.#save(task);
    });
    // One without a row is dropped by its engine, so it must not be written later.
    const kept = tasks.filter((task) => task.stored);
    if (!stored && kept.length > 0)
      this.#clock.setTimer(retryDelayMs, () => {
        for (const task of kept) void this.saveTask(task);
      });
    batch?.resolve(stored);
  }

  #writeEvents(): void {
    this.#eventTimer?.cancel();
    this.#eventTimer = undefined;
    const tasks = [...this.#events.values()];
    this.#events = new Map();
    const stored = this.#write(tasks, (task) => this.#store.saveEvents(task.id, task.unsaved()));
    if (!stored)
      this.#clock.setTimer(retryDelayMs, () => {
        for (const task of tasks) this.saveEventsSoon(task);
      });
  }

  /** All or nothing; says whether it went well. */
  #write(tasks: readonly LiveTask[], save: (task: LiveTask) => void): boolean {
    if (tasks.length === 0) return true;
    try {
      this.#store.transaction(() => {
        for (const task of tasks) save(task);
      });
      for (const task of tasks) task.markSaved();
      return true;
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to write a2a-tasks.db; retrying');
      return false;
    }
  }

  #save(task: LiveTask): void {
    if (task.stored) this.#store.update(task.snapshot(), task.unsaved());
    else this.#store.insert(task.snapshot(), task.unsaved(), task.requestKey);
  }
}
