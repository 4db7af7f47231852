import type { LiveTask } from './live-task.ts';
import type { StartedTurn } from './send-command.ts';
import type { TaskStore } from './task-store.ts';

/** Finds the task of a request that comes again, so that a schedule's second attempt starts nothing new. */
export class RepeatedRequests {
  readonly #store: TaskStore;
  readonly #load: (id: string) => LiveTask | undefined;
  /** Turns whose message is not on disk yet. */
  readonly #starting = new Map<string, StartedTurn>();

  constructor(store: TaskStore, load: (id: string) => LiveTask | undefined) {
    this.#store = store;
    this.#load = load;
  }

  /** A task that failed, by a restart for instance, may be tried again, and so is not found. */
  find(requestKey: string | undefined): StartedTurn | undefined {
    if (requestKey === undefined) return undefined;
    const starting = this.#starting.get(requestKey);
    if (starting !== undefined) return starting;
    const id = this.#store.findByRequest(requestKey);
    const live = id === undefined ? undefined : this.#load(id);
    if (live === undefined || live.state === 'failed') return undefined;
    return { live, stored: Promise.resolve(true) };
  }

  add(requestKey: string | undefined, started: StartedTurn): void {
    if (requestKey === undefined) return;
    this.#starting.set(requestKey, started);
    void started.stored.then(() => this.#starting.delete(requestKey));
  }
}
