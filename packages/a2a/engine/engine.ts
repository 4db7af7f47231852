import type { Clock, Timer } from '@trunkline/schedule';
import { StorageError } from '@trunkline/storage';
import { A2aError, invalidParams, taskNotFound } from '../errors/a2a-error.ts';
import type { Logger } from '../protocol/logger.ts';
import type { Question, Task, TaskEvent } from '../protocol/model.ts';
import { agentMessage, textPart } from '../protocol/parts.ts';
import { isParked, isTerminal } from '../protocol/states.ts';
import type { ExecutionRequest, Executor } from './executor.ts';
import { LiveTask } from './live-task.ts';
import { cannotContinue, newTask, requestOf, type SendCommand, withinTask } from './send-command.ts';
import { type ListQuery, listTasks, type TaskPage } from './task-list.ts';
import { TaskMemory } from './task-memory.ts';
import { type NumberedEvent, TaskStore } from './task-store.ts';
import { TaskWriter } from './task-writer.ts';
import { Turn } from './turn.ts';

export interface EngineOptions {
  /** The file that holds the tasks. */
  path: string;
  executor: Executor;
  /** What a restart does to tasks that wait for an answer. */
  parkedTasks: 'keep' | 'fail';
  /** More turns than this at once are refused. */
  maximumRunning: number;
  clock: Clock;
  logger: Logger;
}

/** A turn that has just begun. */
export interface StartedTurn {
  live: LiveTask;
  /** Resolves when the task is on disk; false when that failed. */
  stored: Promise<boolean>;
}

/** Told of everything that happens to tasks. */
export interface TaskObserver {
  /** A turn begins: the task is new, or it was answered. */
  turnStarted?(task: Task, isNew: boolean): void;
  taskEvent?(live: LiveTask, event: TaskEvent): void;
  /** The task waits for its caller or has ended. */
  turnEnded?(task: Task): void;
}

const lifetimeMs = 24 * 60 * 60 * 1000;
const sweepEveryMs = 5 * 60 * 1000;
const restartReason = 'interrupted by server restart';

/** All tasks of one agent: their states, their turns, and their place on disk. */
export class TaskEngine {
  readonly #options: EngineOptions;
  readonly #store: TaskStore;
  readonly #writer: TaskWriter;
  readonly #memory = new TaskMemory();
  readonly #observers: TaskObserver[] = [];
  #sweepTimer: Timer;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#store = new TaskStore(options.path);
    this.#writer = new TaskWriter(this.#store, options.clock, options.logger);
    this.#sweepTimer = this.#planSweep();
  }

  /** How many turns run now. */
  get running(): number {
    return this.#memory.running;
  }

  /** How many tasks are in memory. */
  get inMemory(): number {
    return this.#memory.size;
  }

  observe(observer: TaskObserver): void {
    this.#observers.push(observer);
  }

  /** Ends what the last process left unfinished. Call it once, before the first message. */
  recover(): void {
    const lost = this.#store
      .unfinished()
      .filter((task) => task.state === 'working' || this.#options.parkedTasks === 'fail');
    for (const task of lost) {
      const live = this.#adopt(task);
      this.#follow(live);
      const message = agentMessage(task, [textPart(restartReason)]);
      live.enter('failed', this.#options.clock.now(), { message });
    }
  }

  /** Takes a message: it answers a task that waits, or starts a new one. */
  start(command: SendCommand): StartedTurn {
    if (this.running >= this.#options.maximumRunning) {
      throw new A2aError('OVERLOADED', 'Too many tasks are running at the moment: try again later');
    }
    const parked = this.#parkedFor(command);
    return parked === undefined ? this.#begin(command) : this.#resume(parked, command);
  }

  get(id: string): Task {
    return this.find(id).snapshot();
  }

  /** A task as it stands, if there is one. */
  peek(id: string): Task | undefined {
    return (this.#memory.get(id) ?? this.#fromDisk(id))?.snapshot();
  }

  find(id: string): LiveTask {
    const known = this.#memory.get(id) ?? this.#fromDisk(id);
    if (known === undefined) throw taskNotFound(id);
    return known;
  }

  /** Ends a task at once. One that has ended already stays as it is, which `strict` callers are told as an error. */
  cancel(id: string, strict: boolean): { task: Task; stored: Promise<boolean> } {
    const live = this.find(id);
    if (isTerminal(live.state)) {
      if (strict) throw new A2aError('TASK_NOT_CANCELABLE', `Task cannot be canceled: it is ${live.state}`);
      return { task: live.snapshot(), stored: Promise.resolve(true) };
    }
    const controller = live.controller;
    live.controller = undefined;
    live.enter('canceled', this.#options.clock.now());
    controller?.abort();
    return { task: live.snapshot(), stored: this.#writer.saveTask(live) };
  }

  list(query: ListQuery): TaskPage {
    this.#writer.flush();
    return listTasks(this.#store, query);
  }

  /** Everything that happened to a task after an event, up to now. */
  eventsAfter(live: LiveTask, sequence: number): NumberedEvent[] {
    this.#writer.saveEventsNow(live);
    return this.#store.eventsAfter(live.id, sequence);
  }

  /** Frees memory of tasks long idle and removes those past their lifetime. */
  sweep(): void {
    const now = this.#options.clock.now();
    this.#writer.flush();
    this.#memory.evict(now);
    for (const live of this.#memory.all()) if (this.#expired(live.snapshot())) this.#memory.forget(live.id);
    try {
      this.#store.deleteBefore(now - lifetimeMs);
    } catch (error) {
      this.#options.logger.error({ err: error }, 'old tasks could not be removed; trying again');
    }
  }

  /** Stops every turn and closes the file. The next start finds the turns that were cut off. */
  stop(): void {
    this.#sweepTimer.cancel();
    for (const live of this.#memory.all()) {
      const controller = live.controller;
      live.controller = undefined;
      controller?.abort();
    }
    this.#writer.flush();
    this.#store.close();
  }

  #begin(command: SendCommand): StartedTurn {
    const now = this.#options.clock.now();
    const live = new LiveTask(newTask(this.#store.newId(now), command, now), { sequence: 0, stored: false });
    command.prepare?.(live.snapshot());
    this.#follow(live);
    this.#memory.keep(live, now);
    this.#run(live, command);
    return { live, stored: this.#writer.saveTask(live) };
  }

  #resume(live: LiveTask, command: SendCommand): StartedTurn {
    const { question } = live.snapshot();
    command.prepare?.(live.snapshot());
    live.remember(withinTask(command.message, live.snapshot()));
    live.enter('working', this.#options.clock.now());
    this.#run(live, command, question);
    return { live, stored: this.#writer.saveTask(live) };
  }

  /** The waiting task that the message answers, if it names one. */
  #parkedFor({ message, strict }: SendCommand): LiveTask | undefined {
    if (message.taskId === undefined) return undefined;
    const live = this.#memory.get(message.taskId) ?? this.#fromDisk(message.taskId);
    if (live === undefined || !isParked(live.state)) {
      if (strict) throw cannotContinue(message.taskId, live);
      return undefined;
    }
    const { contextId } = live.snapshot();
    if (message.contextId !== undefined && message.contextId !== contextId) {
      throw invalidParams(
        `contextId does not belong to task ${live.id}: leave it away, or send the task's own`,
      );
    }
    return live;
  }

  #run(live: LiveTask, command: SendCommand, question?: Question): void {
    const controller = new AbortController();
    live.controller = controller;
    this.#tell((observer) => observer.turnStarted?.(live.snapshot(), question === undefined));
    void this.#drive(live, controller, requestOf(live.snapshot(), command, question));
  }

  async #drive(live: LiveTask, controller: AbortController, request: ExecutionRequest): Promise<void> {
    const turn = new Turn(live, this.#options.clock);
    const current = () => live.controller === controller;
    try {
      for await (const event of this.#options.executor.execute(request, controller.signal)) {
        if (!current() || turn.apply(event)) return;
      }
      if (current()) turn.complete();
    } catch (error) {
      if (!current()) return;
      this.#options.logger.error({ err: error, taskId: live.id }, 'the executor of a task failed');
      turn.fail(reasonFor(error));
    }
  }

  /** Keeps disk, memory and observers in step with the task. */
  #follow(live: LiveTask): void {
    live.bind((emitted) => {
      this.#tell((observer) => observer.taskEvent?.(live, emitted.event));
      if (emitted.event.type === 'message') return this.#discard(live);
      if (emitted.event.type === 'status' && emitted.event.state !== 'working') return this.#settle(live);
      this.#writer.saveEventsSoon(live);
    });
  }

  #settle(live: LiveTask): void {
    live.controller = undefined;
    this.#memory.keep(live, this.#options.clock.now());
    void this.#writer.saveTask(live);
    this.#tell((observer) => observer.turnEnded?.(live.snapshot()));
  }

  /** One that fails, on a full disk for instance, keeps neither the task nor the others from going on. */
  #tell(news: (observer: TaskObserver) => void): void {
    for (const observer of this.#observers) {
      try {
        news(observer);
      } catch (error) {
        this.#options.logger.error({ err: error }, 'an observer of tasks failed');
      }
    }
  }

  /** A plain reply leaves no task behind. */
  #discard(live: LiveTask): void {
    live.controller = undefined;
    this.#memory.forget(live.id);
    this.#writer.forget(live.id);
  }

  #fromDisk(id: string): LiveTask | undefined {
    if (this.#writer.holds(id)) this.#writer.flush();
    const task = this.#store.load(id);
    if (task === undefined || this.#expired(task)) return undefined;
    const live = this.#adopt(task);
    this.#follow(live);
    return live;
  }

  #adopt(task: Task): LiveTask {
    const live = new LiveTask(task, { sequence: this.#store.lastSequence(task.id), stored: true });
    this.#memory.keep(live, this.#options.clock.now());
    return live;
  }

  #expired(task: Task): boolean {
    return task.state !== 'working' && task.updatedAt < this.#options.clock.now() - lifetimeMs;
  }

  #planSweep(): Timer {
    return this.#options.clock.setTimer(sweepEveryMs, () => {
      this.sweep();
      this.#sweepTimer = this.#planSweep();
    });
  }
}

/** What the caller is told of a failure that the executor did not foresee; the log has the rest. */
function reasonFor(error: unknown): string {
  return error instanceof StorageError && error.code === 'disk_full'
    ? 'The agent failed: its disk is full. Make room, then send the message again'
    : 'The agent failed: the server log has the details';
}
