import { type Principal, quotaKey } from '@trunkline/identity';
import type { Clock, Timer } from '@trunkline/schedule';
import { Quota } from '@trunkline/storage';
import { A2aError, taskNotFound } from '../errors/a2a-error.ts';
import {
  agentMessage,
  isTerminal,
  type Logger,
  type NumberedEvent,
  type Question,
  type Task,
  textPart,
} from '../protocol/model.ts';
import { type Executor, type TaskObserver, TaskObservers } from './executor.ts';
import { LiveTask } from './live-task.ts';
import {
  type Admit,
  accept,
  answeredTask,
  newTask,
  RepeatedRequests,
  requestKeyOf,
  requestOf,
  type SendCommand,
  type StartedTurn,
  withinTask,
} from './send-command.ts';
import { SharedTasks } from './shared-tasks.ts';
import { type ListQuery, listTasks, TaskMemory, type TaskPage } from './task-memory.ts';
import { TaskStore } from './task-store.ts';
import { TaskWriter } from './task-writer.ts';
import { runTurn, Turn } from './turn.ts';
import { accessCheckMs, accountOf, lostAccess, type TaskAccess, VisibleTasks } from './visible-tasks.ts';

export interface EngineOptions {
  /** The file that holds the tasks. */
  path: string;
  executor: Executor;
  /** Asked before a message is accepted; left out, all are taken. */
  admit?: Admit | undefined;
  access?: TaskAccess | undefined;
  /** What a restart does to tasks that wait for an answer. */
  parkedTasks: 'keep' | 'fail';
  /** Bytes that one owner may keep, of tasks and of what `keptBesides` counts; 0: no limit. */
  quotaBytes: number;
  keptBesides?: ((owner: string) => number) | undefined;
  /** Whoever asked, with their rights of today; throws where their account is disabled or gone. */
  current?: ((principal: Principal) => Principal) | undefined;
  /** Tells other services that share the tasks how one stands at the begin and the end of a turn; does not reject. */
  share?: ((live: LiveTask) => Promise<void>) | undefined;
  /** More turns than this at once are refused. */
  maximumRunning: number;
  clock: Clock;
  logger: Logger;
}

const lifetimeMs = 24 * 60 * 60 * 1000;
const sweepEveryMs = 5 * 60 * 1000;
/** Of an answer: whoever keeps too much must still be able to say no. */
const freeAnswerBytes = 4096;
const restartReason = 'interrupted by server restart';
const unwritableReason = 'The task could not be written to disk and was not started';

/** All tasks of one agent: their states, their turns, and their place on disk. */
export class TaskEngine {
  readonly #options: EngineOptions;
  readonly #store: TaskStore;
  readonly #quota: Quota;
  readonly #writer: TaskWriter;
  readonly #memory = new TaskMemory();
  readonly #observers: TaskObservers;
  readonly #repeated: RepeatedRequests;
  /** Those of other services that share their tasks. */
  readonly shared: SharedTasks;
  #sweepTimer: Timer;
  #accessTimer: Timer | undefined;
  #stopped = false;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#store = new TaskStore(options.path);
    const usedBy = (owner: string) => this.#store.bytesOf(owner) + (options.keptBesides?.(owner) ?? 0);
    this.#quota = new Quota({ limitBytes: options.quotaBytes, usedBy, now: () => options.clock.now() });
    this.#writer = new TaskWriter(this.#store, options.clock, options.logger);
    this.#observers = new TaskObservers(options.logger);
    const known = (id: string) => this.#known(id);
    this.#repeated = new RepeatedRequests(this.#store, known);
    const [store, writer, memory, observers] = [this.#store, this.#writer, this.#memory, this.#observers];
    this.shared = new SharedTasks({ store, writer, memory, observers, clock: options.clock, known });
    this.#sweepTimer = this.#planSweep();
    this.#accessTimer = options.current && this.#planAccessCheck(options.current);
  }

  /** How many turns run now. */
  get running(): number {
    return this.#memory.running;
  }

  /** How many tasks are in memory. */
  get inMemory(): number {
    return this.#memory.size;
  }

  /** Words for whoever would keep too much, of tasks or of anything else; undefined where it fits, and then it counts. */
  refusal(owner: string, bytes: number): string | undefined {
    return this.#quota.refusal(owner, bytes);
  }

  observe(observer: TaskObserver): void {
    this.#observers.add(observer);
  }

  /** Goes on with what the last process left unfinished, or ends it. Call it once, before the first message. */
  recover(): void {
    const lost = this.#store
      .unfinished()
      .filter((task) => task.state === 'working' || this.#options.parkedTasks === 'fail');
    for (const task of lost) if (task.runner === undefined) this.#recoverOne(this.#adopt(task));
  }

  /** Goes on with a task whose runner is gone, or ends it. */
  takeOver(id: string): void {
    const live = this.#known(id);
    if (live === undefined || live.state !== 'working' || live.snapshot().runner === undefined) return;
    live.runHere();
    this.#recoverOne(live);
  }

  #recoverOne(live: LiveTask): void {
    if (this.#goOn(live)) return;
    const message = agentMessage(live.snapshot(), [textPart(restartReason)]);
    live.enter('failed', this.#options.clock.now(), { message });
  }

  #goOn(live: LiveTask): boolean {
    const { executor, logger, clock, current } = this.#options;
    const controller = new AbortController();
    const turn = live.state === 'working' && executor.recover?.(live.snapshot(), controller.signal);
    if (!turn) return false;
    const { principal: asker = accountOf(live.snapshot().owner), events } = turn;
    const reason = asker && current && lostAccess(asker, current, logger);
    if (reason !== undefined) {
      this.#cut(live, reason);
      return true;
    }
    live.asker = asker;
    live.controller = controller;
    void runTurn(live, new Turn(live, clock), () => events, logger).finally(() => {
      live.asker = undefined;
    });
    return true;
  }

  /** The tasks as somebody sees them: whatever a caller asks for goes through here. */
  for(principal: Principal, tenant?: string): VisibleTasks {
    return new VisibleTasks(this, principal, this.#options.access ?? {}, tenant);
  }

  /** Accepts a message, which answers a waiting task or starts a new one. A repeated request returns its existing task. */
  start(command: SendCommand): StartedTurn {
    const repeated = this.#repeated.find(command);
    if (repeated !== undefined) return repeated;
    if (this.running >= this.#options.maximumRunning) {
      throw new A2aError('OVERLOADED', 'Too many tasks are running at the moment: try again later');
    }
    const parked = answeredTask(command, (id) => this.#known(id));
    return parked === undefined ? this.#begin(command) : this.#resume(parked, command);
  }

  get(id: string): Task {
    return this.find(id).snapshot();
  }

  /** A task as it stands, if there is one. */
  peek(id: string): Task | undefined {
    return this.#known(id)?.snapshot();
  }

  /** For callers: nobody is shown an end that is not on disk. */
  find(id: string): LiveTask {
    const known = this.#known(id);
    if (known === undefined) throw taskNotFound(id);
    if (known.state !== 'working' && this.#writer.holds(id)) this.#writer.flush();
    return known;
  }

  /** Cancels a task at once. If the task has ended already, throws for `strict` callers and otherwise changes nothing. */
  cancel(id: string, strict: boolean, by?: Principal): { task: Task; stored: Promise<boolean> } {
    const live = this.find(id);
    if (isTerminal(live.state)) {
      if (strict) throw new A2aError('TASK_NOT_CANCELABLE', `Task cannot be canceled: it is ${live.state}`);
      return { task: live.snapshot(), stored: Promise.resolve(true) };
    }
    const controller = live.controller;
    live.controller = undefined;
    live.enter('canceled', this.#options.clock.now());
    controller?.abort();
    this.#observers.tell((observer) => observer.taskCanceled?.(live.snapshot(), by));
    return { task: live.snapshot(), stored: this.#writer.saveTask(live) };
  }

  list(query: ListQuery): TaskPage {
    this.#writer.flush();
    return listTasks(this.#store, query);
  }

  /** Everything that happened to a task after an event, up to now; or of it what is read at a time. */
  eventsAfter(live: LiveTask, sequence: number, isWhole?: boolean): NumberedEvent[] {
    this.#writer.saveEventsNow(live);
    return this.#store.eventsAfter(live.id, sequence, isWhole);
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
      this.#options.logger.error({ err: error }, 'failed to delete expired tasks; retrying');
    }
  }

  /** Stops every turn and closes the file. The next start finds the turns that were cut off. */
  stop(): void {
    this.#stopped = true;
    this.#sweepTimer.cancel();
    this.#accessTimer?.cancel();
    for (const live of this.#memory.all()) {
      const controller = live.controller;
      live.controller = undefined;
      controller?.abort();
    }
    this.#writer.flush();
    this.#store.close();
  }

  #begin(command: SendCommand): StartedTurn {
    this.#checkQuota(command);
    const now = this.#options.clock.now();
    const requestKey = requestKeyOf(command);
    const origin = { sequence: 0, stored: false, requestKey };
    const live = new LiveTask(newTask(this.#store.newId(now), command, now), origin);
    const release = accept(live.snapshot(), command, this.#options.admit);
    this.#follow(live);
    this.#memory.keep(live, now);
    const started = this.#runWhenStored(live, command, undefined, release, () => this.#drop(live));
    this.#repeated.add(requestKey, started);
    return started;
  }

  #checkQuota({ message, principal }: SendCommand, freeBytes = 0): void {
    if (this.#options.quotaBytes === 0) return;
    const bytes = Buffer.byteLength(JSON.stringify(message));
    const refusal = bytes <= freeBytes ? undefined : this.refusal(quotaKey(principal), bytes);
    if (refusal !== undefined) throw new A2aError('QUOTA_EXCEEDED', refusal);
  }

  #resume(live: LiveTask, command: SendCommand): StartedTurn {
    this.#checkQuota(command, freeAnswerBytes);
    const parked = live.snapshot();
    const release = accept(parked, command, this.#options.admit);
    live.runHere();
    live.remember(withinTask(command.message, parked));
    live.enter('working', this.#options.clock.now());
    this.#memory.keep(live, this.#options.clock.now());
    const started = this.#runWhenStored(live, command, parked.question, release, () => {
      live.restore(parked, this.#options.clock.now());
      this.#memory.keep(live, this.#options.clock.now());
    });
    this.#repeated.add(requestKeyOf(command), started);
    return started;
  }

  /** Starts the turn once the message is on disk: a crash must not lose a message that was acted on. */
  #runWhenStored(
    live: LiveTask,
    command: SendCommand,
    question: Question | undefined,
    release: () => void,
    onFailure: () => void,
  ): StartedTurn {
    const turn = new Turn(live, this.#options.clock);
    const { share } = this.#options;
    const saved = this.#writer.saveTask(live);
    const told = share && saved.then((isStored) => (isStored ? share(live).then(() => true) : false));
    const stored = (told ?? saved).then((isStored) => {
      const isRun = isStored && !this.#stopped && live.state === 'working';
      if (!isStored) onFailure();
      if (isRun) void this.#run(live, turn, command, question).finally(release);
      else release();
      return isStored;
    });
    return { live, stored };
  }

  /** Removes a task that could not be written; those who wait for it see it fail. */
  #drop(live: LiveTask): void {
    this.#memory.forget(live.id);
    this.#writer.forget(live.id);
    live.bind(() => undefined);
    const message = agentMessage(live.snapshot(), [textPart(unwritableReason)]);
    live.enter('failed', this.#options.clock.now(), { message });
    this.#observers.tell((observer) => observer.taskDropped?.(live.id));
  }

  #run(live: LiveTask, turn: Turn, command: SendCommand, question: Question | undefined): Promise<void> {
    const { executor, logger } = this.#options;
    live.controller = new AbortController();
    this.#observers.tell((observer) => observer.turnStarted?.(live.snapshot(), question === undefined));
    const request = requestOf(live.snapshot(), command, question);
    // Whoever answers a question, the work is for whom it was begun.
    const asker = question === undefined ? command.principal : accountOf(live.snapshot().owner);
    live.asker = asker;
    return runTurn(live, turn, (signal) => executor.execute(request, signal), logger).finally(() => {
      live.asker = undefined;
    });
  }

  /** Keeps disk, memory and observers in step with the task. */
  #follow(live: LiveTask): void {
    live.bind((emitted) => {
      this.#observers.tell((observer) => observer.taskEvent?.(live, emitted.event));
      if (emitted.event.type === 'message') return this.#discard(live);
      if (emitted.event.type === 'status' && emitted.event.state !== 'working') return this.#settle(live);
      this.#writer.saveEventsSoon(live);
    });
  }

  #settle(live: LiveTask): void {
    live.controller = undefined;
    this.#memory.keep(live, this.#options.clock.now());
    const { share } = this.#options;
    const saved = this.#writer.saveTask(live);
    live.saving = share === undefined ? saved : Promise.all([saved, share(live)]);
    this.#observers.tell((observer) => observer.turnEnded?.(live.snapshot()));
  }

  /** A plain reply leaves no task behind. */
  #discard(live: LiveTask): void {
    live.controller = undefined;
    this.#memory.forget(live.id);
    this.#writer.forget(live.id);
    try {
      this.#store.delete(live.id);
    } catch (error) {
      this.#options.logger.error({ err: error, taskId: live.id }, 'failed to delete task of plain reply');
    }
  }

  #known(id: string): LiveTask | undefined {
    return this.#memory.get(id) ?? this.#fromDisk(id);
  }

  #fromDisk(id: string): LiveTask | undefined {
    if (this.#writer.holds(id)) this.#writer.flush();
    const task = this.#store.load(id);
    return task === undefined || this.#expired(task) ? undefined : this.#adopt(task);
  }

  #adopt(task: Task): LiveTask {
    const live = new LiveTask(task, { sequence: this.#store.lastSequence(task.id), stored: true });
    this.#memory.keep(live, this.#options.clock.now());
    this.#follow(live);
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

  /** Other processes change accounts, so it is looked up. */
  #planAccessCheck(current: NonNullable<EngineOptions['current']>): Timer {
    return this.#options.clock.setTimer(accessCheckMs, () => {
      for (const live of this.#memory.all()) {
        const reason = live.asker && lostAccess(live.asker, current, this.#options.logger);
        if (reason !== undefined) this.#cut(live, reason);
      }
      this.#accessTimer = this.#planAccessCheck(current);
    });
  }

  #cut(live: LiveTask, reason: string): void {
    if (isTerminal(live.state)) return;
    const { controller } = live;
    live.controller = undefined;
    const message = agentMessage(live.snapshot(), [textPart(reason)]);
    live.enter('failed', this.#options.clock.now(), { message });
    controller?.abort();
  }
}
