import type { Clock, Timer } from '@trunkline/schedule';
import type { Logger, Task } from '../protocol/model.ts';
import type { NumberedEvent, TaskStore } from './task-store.ts';

/** What the writer needs of a task in memory. */
export interface Storable {
  readonly id: string;
  readonly requestKey: string | undefined;
  /** It has a row already. */
  readonly stored: boolean;
  /** The task as it stands. */
  snapshot(): Task;
  /** The events that are not on disk yet. */
  unsaved(): readonly NumberedEvent[];
  /** Told after a commit: the task and its events up to this number are on disk. */
  markSaved(sequence: number): void;
}

interface Batch {
  stored: Promise<boolean>;
  settle(stored: boolean): void;
}

/** Events of a running task may wait this long, as a crash would fail the task anyway. */
const eventDelayMs = 250;
const retryDelayMs = 1000;

/** Gathers what many tasks have to write into one transaction per turn of the event loop. */
export class TaskWriter {
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #tasks = new Map<string, Storable>();
  readonly #events = new Map<string, Storable>();
  #batch: Batch | undefined;
  #eventTimer: Timer | undefined;

  constructor(store: TaskStore, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Resolves when the task and its events are on disk: with false when they could not be written. */
  saveTask(task: Storable): Promise<boolean> {
    this.#tasks.set(task.id, task);
    if (this.#batch === undefined) {
      this.#batch = createBatch();
      setImmediate(() => this.#writeTasks());
    }
    return this.#batch.stored;
  }

  /** Nothing of this task is to be kept. */
  forget(id: string): void {
    this.#tasks.delete(id);
    this.#events.delete(id);
  }

  saveEventsSoon(task: Storable): void {
    this.#events.set(task.id, task);
    this.#eventTimer ??= this.#clock.setTimer(eventDelayMs, () => this.#writeEvents());
  }

  /** Writes the events of one task now, so that they can be read back. */
  saveEventsNow(task: Storable): void {
    this.#events.delete(task.id);
    this.#write([task], () => this.#save(task));
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
    const tasks = takeAll(this.#tasks);
    const stored = this.#write(tasks, (task) => {
      this.#events.delete(task.id);
      this.#save(task);
    });
    // One without a row is dropped by its engine, so it must not be written later.
    const kept = tasks.filter((task) => task.stored);
    if (!stored && kept.length > 0) this.#clock.setTimer(retryDelayMs, () => this.#again(kept));
    batch?.settle(stored);
  }

  #writeEvents(): void {
    this.#eventTimer?.cancel();
    this.#eventTimer = undefined;
    const tasks = takeAll(this.#events);
    const stored = this.#write(tasks, (task) => this.#store.saveEvents(task.id, task.unsaved()));
    if (!stored) this.#clock.setTimer(retryDelayMs, () => this.#eventsAgain(tasks));
  }

  #again(tasks: readonly Storable[]): void {
    for (const task of tasks) void this.saveTask(task);
  }

  #eventsAgain(tasks: readonly Storable[]): void {
    for (const task of tasks) this.saveEventsSoon(task);
  }

  /** All or nothing; says whether it went well. */
  #write(tasks: readonly Storable[], save: (task: Storable) => void): boolean {
    if (tasks.length === 0) return true;
    try {
      const last = tasks.map((task) => task.unsaved().at(-1)?.sequence ?? 0);
      this.#atOnce(tasks, save);
      tasks.forEach((task, index) => {
        task.markSaved(last[index] ?? 0);
      });
      return true;
    } catch (error) {
      this.#logger.error({ err: error }, 'a2a-tasks.db could not be written; trying again');
      return false;
    }
  }

  /** One new row is whole by itself and needs no transaction. */
  #atOnce(tasks: readonly Storable[], save: (task: Storable) => void): void {
    const [first] = tasks;
    const saveAll = () => {
      for (const task of tasks) save(task);
    };
    if (tasks.length === 1 && first?.stored === false) saveAll();
    else this.#store.transaction(saveAll);
  }

  #save(task: Storable): void {
    if (task.stored) {
      this.#store.update(task.snapshot());
      this.#store.saveEvents(task.id, task.unsaved());
    } else {
      this.#store.insert(task.snapshot(), task.unsaved(), task.requestKey);
    }
  }
}

function takeAll(map: Map<string, Storable>): Storable[] {
  const all = [...map.values()];
  map.clear();
  return all;
}

function createBatch(): Batch {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  return { stored: promise, settle: resolve };
}
