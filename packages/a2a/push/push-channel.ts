import type { Clock, Timer } from '@trunkline/schedule';
import { isTerminal } from '../protocol/states.ts';
import type { Notification } from './delivery.ts';

/** Built only when it is sent, so that a burst costs nothing. */
export type Draft = { urgent: boolean; write(): Notification };

export interface ChannelOptions {
  clock: Clock;
  /** Ends when the notification was delivered, refused or given up. */
  deliver(notification: Notification, signal: AbortSignal): Promise<void>;
  /** The end of the task was told, or given up. */
  onSettled(): void;
}

const intervalMs = 1500;

/** The way to one webhook: progress at most every so often and only the latest, what matters at once. */
export class PushChannel {
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

  /** What is still on its way is older: its receiver gets the newer state instead. */
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
