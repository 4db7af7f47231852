import {
  createInbox,
  type Msg,
  type NatsConnection,
  nanos,
  type Subscription,
} from '@nats-io/transport-node';
import { PulledMessage } from './pulled-message.ts';

const expiresMs = 5000;
/** For the answer that the time is over to arrive. */
const graceMs = 2000;

/** How a request ended: all came, the time was over, or the server said nothing or that the consumer is gone. */
export type PullEnd = 'filled' | 'expired' | 'lost';

export interface PullTarget {
  take(message: PulledMessage): void;
  ended(request: PullRequest, end: PullEnd): void;
}

/** Asks a consumer for up to so many messages, for a few seconds. */
export class PullRequest {
  readonly #target: PullTarget;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  #missing: number;
  #ended = false;

  constructor(nats: NatsConnection, stream: string, consumer: string, size: number, target: PullTarget) {
    this.#target = target;
    this.#missing = size;
    const reply = createInbox();
    this.#subscription = nats.subscribe(reply, { callback: (_, message) => this.#receive(message) });
    const order = JSON.stringify({ batch: size, expires: nanos(expiresMs) });
    nats.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, order, { reply });
    this.#watchdog = setTimeout(() => this.#end('lost'), expiresMs + graceMs).unref();
  }

  /** Messages that may still come. */
  get missing(): number {
    return this.#missing;
  }

  /** Takes no more; tells nobody. */
  close(): void {
    this.#ended = true;
    clearTimeout(this.#watchdog);
    this.#subscription.unsubscribe();
  }

  #receive(message: Msg): void {
    if (this.#ended) return;
    const code = message.headers?.code ?? 0;
    if (code > 0) {
      this.#end(code === 409 ? 'lost' : 'expired');
      return;
    }
    this.#missing -= 1;
    this.#target.take(new PulledMessage(message));
    if (this.#missing === 0) this.#end('filled');
  }

  #end(end: PullEnd): void {
    if (this.#ended) return;
    this.close();
    this.#target.ended(this, end);
  }
}
