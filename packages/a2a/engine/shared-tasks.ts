import type { Clock } from '@trunkline/schedule';
import { BoundedMap } from '@trunkline/std';
import { isTerminal, type NumberedEvent, type Task } from '../protocol/model.ts';
import type { TaskObservers } from './executor.ts';
import type { LiveTask } from './live-task.ts';
import type { TaskMemory } from './task-memory.ts';
import type { TaskStore } from './task-store.ts';
import type { TaskWriter } from './task-writer.ts';

/** A task as another service that shares its tasks has it. */
export interface SharedTask {
  task: Task;
  /** The number of its last event. */
  sequence: number;
  /** The last ones of them. */
  events: readonly NumberedEvent[];
  requestKey?: string | undefined;
}

interface SharedTaskDeps {
  store: TaskStore;
  writer: TaskWriter;
  memory: TaskMemory;
  observers: TaskObservers;
  clock: Clock;
  known(id: string): LiveTask | undefined;
}

/** Ends that are remembered, as two services may end a task at once. */
const mostEnds = 10_000;

/**
 * Tasks of other services, as they tell them. All get the ends of a task in the same order: the first one stands, also in
 * place of one that was reached here.
 */
export class SharedTasks {
  readonly #deps: SharedTaskDeps;
  readonly #ends = new BoundedMap<string, true>(mostEnds);

  constructor(deps: SharedTaskDeps) {
    this.#deps = deps;
  }

  /** The end that this service has told is the next one: it stands if it is the first. */
  confirmEnd(id: string): void {
    if (this.#ends.has(id)) return;
    this.#ends.set(id, true);
    const task = this.endedHere(id);
    if (task !== undefined) this.#deps.observers.tell((observer) => observer.endStands?.(task));
  }

  /** A task whose end stands and was reached here. */
  endedHere(id: string): Task | undefined {
    const task = this.#ends.has(id) ? this.#deps.known(id)?.snapshot() : undefined;
    return task !== undefined && isTerminal(task.state) && task.runner === undefined ? task : undefined;
  }

  /** What runs here goes on until its end is told. */
  take({ task, sequence, events, requestKey }: SharedTask): void {
    const { store, writer, memory, observers, clock } = this.#deps;
    if (this.#ends.has(task.id)) return;
    const isEnd = isTerminal(task.state);
    if (isEnd) this.#ends.set(task.id, true);
    const live = this.#deps.known(task.id);
    if (live === undefined) {
      store.saveCopy(task, events, requestKey);
      return;
    }
    const runsHere = live.state === 'working' && live.snapshot().runner === undefined;
    if (!isEnd && (runsHere || isTerminal(live.state) || sequence <= live.sequence)) return;
    const { controller } = live;
    live.controller = undefined;
    writer.saveEventsNow(live);
    const missed = live.follow(task, events);
    store.saveCopy(task, missed);
    memory.keep(live, clock.now());
    controller?.abort();
    for (const { event } of missed) observers.tell((observer) => observer.taskEvent?.(live, event));
    if (task.state !== 'working') observers.tell((observer) => observer.turnEnded?.(task));
  }
}
