import { isDeepStrictEqual } from 'node:util';
import type { Clock, Timer } from '@trunkline/schedule';
import { pushNotification } from '../dialects/dialects.ts';
import type { PushTarget } from '../dialects/read/send.ts';
import type { TaskObserver } from '../engine/executor.ts';
import type { LiveTask } from '../engine/live-task.ts';
import { A2aError, invalidParams } from '../errors/a2a-error.ts';
import {
  isTerminal,
  type Logger,
  lastStatus,
  type ProtocolVersion,
  type StatusEvent,
  type Task,
  type TaskEvent,
} from '../protocol/model.ts';
import { deliver, type Notification, type PushGuard } from './delivery.ts';
import { type PushConfig, type PushDelivery, PushStore, type SharedWebhook } from './push-store.ts';

const intervalMs = 1500;

export interface PushServiceOptions {
  /** The file that holds the webhooks. */
  path: string;
  guard: PushGuard;
  /** Tells other services that share the tasks; false when they may not know it. Does not reject. */
  share?: ((change: SharedWebhook) => Promise<boolean>) | undefined;
  clock: Clock;
  logger: Logger;
}

const mostPerTask = 16;
const sweepEveryMs = 5 * 60 * 1000;

/**
 * Webhooks of tasks, and the notifications to them. Where several services share their tasks each has all webhooks: the one
 * that runs a task tells of it, and of its end when that is known to stand.
 */
export class PushService implements TaskObserver {
  readonly #options: PushServiceOptions;
  readonly #store: PushStore;
  readonly #configs = new Map<string, PushConfig[]>();
  readonly #channels = new Map<string, PushChannel>();
  #sweepTimer: Timer;
  #isStopped = false;

  constructor(options: PushServiceOptions) {
    this.#options = options;
    this.#store = new PushStore(options.path);
    this.#load();
    this.#sweepTimer = this.#planSweep();
  }

  /** Throws when notifications may not go there. */
  check(target: PushTarget): Promise<void> {
    return this.#options.guard.check(target.url);
  }

  /** Registers a webhook that was checked. A task that has ended is told at once. `shared` resolves when others know it. */
  add(
    task: Task,
    target: PushTarget,
    version: ProtocolVersion,
  ): { config: PushConfig; shared: Promise<void> } {
    const { id = task.id, ...rest } = target;
    const others = this.list(task.id).filter((config) => config.id !== id);
    if (others.length >= mostPerTask) {
      throw invalidParams(`A task takes at most ${mostPerTask} push notification configs: delete one first`);
    }
    const config: PushConfig = { ...rest, id, taskId: task.id, version };
    this.#keep(config);
    const isSent = isTerminal(task.state);
    if (isSent) this.#notify(config, task, lastStatus(task));
    return { config, shared: this.#share({ added: config, isSent }) };
  }

  /** Takes over a webhook of another service; `ended` is its task, where the end that stands was reached here. */
  take(change: SharedWebhook, ended: Task | undefined): void {
    this.#note(() => this.#store.forgetUnshared(change));
    if ('removed' in change) {
      this.#remove(change.removed.taskId, change.removed.id);
      return;
    }
    const { added, isSent } = change;
    const isKnown = this.list(added.taskId).some((config) => isDeepStrictEqual(config, added));
    // One that is not sure that others know it tells them again.
    if (isKnown && !isSent) return;
    this.#keep(added);
    if (isSent) this.#store.settle(added.taskId, added.id);
    else if (ended !== undefined) this.#notify(added, ended, lastStatus(ended));
  }

  list(taskId: string): readonly PushConfig[] {
    return this.#configs.get(taskId) ?? [];
  }

  /** Without an id it is the first one. */
  get(taskId: string, id: string | undefined): PushConfig {
    const config = this.list(taskId).find((known) => id === undefined || known.id === id);
    if (config !== undefined) return config;
    throw new A2aError('TASK_NOT_FOUND', `Push notification config not found for task ${taskId}`);
  }

  /** Without an id all of them go. What is gone already is no error. Resolves when others know it. */
  async delete(taskId: string, id: string | undefined): Promise<void> {
    const ids = id === undefined ? this.list(taskId).map((config) => config.id) : [id];
    this.#remove(taskId, id);
    // Others may have some that are not known here yet. Not sent again later: it would remove what came after it.
    const all = id === undefined ? [this.#options.share?.({ removed: { taskId } })] : [];
    await Promise.all([...all, ...ids.map((each) => this.#share({ removed: { taskId, id: each } }))]);
  }

  #keep(config: PushConfig): void {
    const others = this.list(config.taskId).filter(({ id }) => id !== config.id);
    this.#store.save(config, this.#options.clock.now());
    this.#closeChannel(config);
    this.#configs.set(config.taskId, [...others, config]);
  }

  #remove(taskId: string, id: string | undefined): void {
    const kept = this.list(taskId).filter((config) => id !== undefined && config.id !== id);
    for (const config of this.list(taskId)) {
      if (kept.includes(config)) continue;
      this.#store.delete(taskId, config.id);
      this.#closeChannel(config);
    }
    if (kept.length > 0) this.#configs.set(taskId, kept);
    else this.#configs.delete(taskId);
  }

  /** Delivery attempts of a task's notifications, oldest first. */
  deliveries(taskId: string): PushDelivery[] {
    return this.#store.deliveries(taskId);
  }

  /**
   * Sends the notifications that the last process could not send any more, and shares the webhooks that others may not know.
   * Gives the tasks whose end was reached here and must be shared first.
   */
  recover(find: (taskId: string) => Task | undefined): ReadonlySet<string> {
    this.shareAgain();
    const unshared = new Set<string>();
    for (const config of this.#store.unsettled(this.#options.clock.now())) {
      const task = find(config.taskId);
      if (task === undefined || !isTerminal(task.state) || task.runner !== undefined) continue;
      if (this.#options.share === undefined) this.#notify(config, task, lastStatus(task));
      else unshared.add(task.id);
    }
    return unshared;
  }

  turnStarted(task: Task, isNew: boolean): void {
    if (isNew) this.#notifyAll(task.id, () => task, lastStatus(task));
  }

  taskDropped(taskId: string): void {
    if (!this.#configs.has(taskId)) return;
    this.#remove(taskId, undefined);
    void this.#share({ removed: { taskId } });
  }

  taskEvent(live: LiveTask, event: TaskEvent): void {
    if (event.type !== 'status' || !this.#configs.has(live.id)) return;
    const isShared = this.#options.share !== undefined;
    // Another service tells of what it runs; two may reach an end, of which one will stand.
    if (isShared && (isTerminal(event.state) || live.snapshot().runner !== undefined)) return;
    this.#notifyAll(live.id, () => live.snapshot(), event);
  }

  endStands(task: Task): void {
    if (!this.#configs.has(task.id)) return;
    // After a restart some may have been told.
    for (const config of this.#store.unsettled(this.#options.clock.now(), task.id))
      this.#notify(config, task, lastStatus(task));
  }

  sweep(): void {
    this.#note(() => {
      this.#store.sweep(this.#options.clock.now());
      this.#load();
      this.shareAgain();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#sweepTimer.cancel();
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
    this.#store.close();
  }

  #load(): void {
    const configs = this.#store.all(this.#options.clock.now());
    this.#configs.clear();
    for (const config of configs) {
      this.#configs.set(config.taskId, [...this.list(config.taskId), config]);
    }
  }

  /** Noted until others know it: a restart may come before. */
  async #share(change: SharedWebhook): Promise<void> {
    if (this.#options.share === undefined) return;
    let number = 0;
    this.#note(() => {
      number = this.#store.noteUnshared(change, this.#options.clock.now());
    });
    await this.#tell(number, change);
  }

  /** Shares the webhooks that others may not know. */
  shareAgain(): void {
    if (this.#options.share === undefined) return;
    for (const { number, change } of this.#store.unshared()) void this.#tell(number, change);
  }

  async #tell(number: number, change: SharedWebhook): Promise<void> {
    const isShared = await this.#options.share?.(change);
    if (isShared === true && !this.#isStopped) this.#note(() => this.#store.shared(number));
  }

  #notifyAll(taskId: string, task: () => Task, event: StatusEvent): void {
    const configs = this.#configs.get(taskId);
    if (configs === undefined) return;
    for (const config of configs) this.#notify(config, task(), event);
  }

  #notify(config: PushConfig, task: Task, event: StatusEvent): void {
    this.#channel(config).offer({
      urgent: event.state !== 'working',
      write: () => {
        const { contentType, body } = pushNotification(config.version, task, event);
        return { state: event.state, contentType, body: JSON.stringify(body) };
      },
    });
  }

  #channel(config: PushConfig): PushChannel {
    const key = keyOf(config);
    const channel = this.#channels.get(key) ?? this.#openChannel(config);
    this.#channels.set(key, channel);
    return channel;
  }

  #openChannel(config: PushConfig): PushChannel {
    const { guard, clock } = this.#options;
    return new PushChannel({
      clock,
      deliver: (notification, signal) =>
        deliver(config, notification, { guard, clock, record: (entry) => this.#record(entry) }, signal),
      onSettled: () => {
        this.#note(() => this.#store.settle(config.taskId, config.id));
        this.#channels.delete(keyOf(config));
      },
    });
  }

  #record(delivery: PushDelivery): void {
    this.#note(() => this.#store.record(delivery));
    if (delivery.outcome === 'delivered') return;
    this.#options.logger.warn({ ...delivery }, 'failed to deliver push notification');
  }

  /** Nobody waits for these writes: a failure is logged, and notifications go on. */
  #note(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#options.logger.error({ err: error }, 'failed to write a2a-push.db');
    }
  }

  #closeChannel(config: PushConfig): void {
    this.#channels.get(keyOf(config))?.close();
    this.#channels.delete(keyOf(config));
  }

  #planSweep(): Timer {
    return this.#options.clock.setTimer(sweepEveryMs, () => {
      this.sweep();
      this.#sweepTimer = this.#planSweep();
    });
  }
}

function keyOf({ taskId, id }: PushConfig): string {
  return JSON.stringify([taskId, id]);
}

/** Built only when it is sent, so that a burst costs nothing. */
type Draft = { urgent: boolean; write(): Notification };

interface ChannelOptions {
  clock: Clock;
  /** Ends when the notification was delivered, refused or given up. */
  deliver(notification: Notification, signal: AbortSignal): Promise<void>;
  /** The end of the task was told, or given up. */
  onSettled(): void;
}

/** Notifies one webhook: urgent states at once, progress throttled and only the latest. */
class PushChannel {
  readonly #options: ChannelOptions;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #waiting: Draft | undefined;
  #timer: Timer | undefined;
  #current: AbortController | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  offer(draft: Draft): void {
    this.#waiting = draft;
    const rest = draft.urgent ? 0 : this.#lastSentAt + intervalMs - this.#options.clock.now();
    if (rest <= 0) this.#sendWaiting();
    else this.#timer ??= this.#options.clock.setTimer(rest, () => this.#sendWaiting());
  }

  close(): void {
    this.#timer?.cancel();
    this.#waiting = undefined;
    this.#current?.abort();
  }

  /** Aborts a delivery under way, whose state is older. */
  #sendWaiting(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const draft = this.#waiting;
    if (draft === undefined) return;
    this.#waiting = undefined;
    this.#current?.abort();
    this.#current = new AbortController();
    this.#lastSentAt = this.#options.clock.now();
    void this.#send(draft.write(), this.#current.signal);
  }

  async #send(notification: Notification, signal: AbortSignal): Promise<void> {
    await this.#options.deliver(notification, signal);
    if (!signal.aborted && isTerminal(notification.state)) this.#options.onSettled();
  }
}
