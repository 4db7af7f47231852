import { BusError } from '../errors.ts';
import { createId } from '../identifier.ts';
import type { Bus, Message, RequestOptions, Subscription } from '../port.ts';

/** Requests waiting for an answer at once. */
const maximumWaiting = 10_000;

/** Asks and waits for one answer. All answers to this bus come in by one subscription, made at the first request. */
export class Requests {
  readonly #bus: Pick<Bus, 'publish' | 'subscribe'>;
  readonly #prefix = `reply.${createId()}`;
  readonly #waiting = new Map<string, (answer: Message) => void>();
  #subscription: Promise<Subscription> | undefined;

  constructor(bus: Pick<Bus, 'publish' | 'subscribe'>) {
    this.#bus = bus;
  }

  async request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    this.#checkRoom();
    this.#subscription ??= this.#listen();
    await this.#subscription;
    if (options.signal?.aborted) throw aborted(topic, options.signal);
    const id = createId();
    const replyTopic = `${this.#prefix}.${id}`;
    const answer = this.#answer(topic, replyTopic, options);
    const { correlationId, source, principal } = options;
    const published = this.#bus.publish({
      topic,
      payload,
      id,
      correlationId,
      source,
      principal,
      reply: { topic: replyTopic },
    });
    // Whichever fails first tells; an answer may come before the publisher's own confirmation.
    const [message] = await Promise.all([answer.promise, published]).finally(answer.cancel);
    return message;
  }

  #listen(): Promise<Subscription> {
    const hear = (answer: Message) => this.#waiting.get(answer.topic)?.(answer);
    const subscription = this.#bus.subscribe(`${this.#prefix}.*`, hear, { queueLimit: maximumWaiting });
    subscription.catch(() => {
      this.#subscription = undefined;
    });
    return subscription;
  }

  #answer(topic: string, replyTopic: string, { timeoutMs, signal }: RequestOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const timer = setTimeout(() => reject(timedOut(topic, timeoutMs)), timeoutMs);
    const abort = () => reject(aborted(topic, signal));
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.set(replyTopic, resolve);
    const cancel = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(replyTopic);
    };
    return { promise, cancel };
  }

  #checkRoom(): void {
    if (this.#waiting.size < maximumWaiting) return;
    throw new BusError(
      'overloaded',
      `${maximumWaiting} requests wait for an answer already: ask fewer at once.`,
    );
  }
}

function timedOut(topic: string, timeoutMs: number): BusError {
  const words = `Nobody answered on ${topic} within ${timeoutMs} ms: see that its subscriber runs, or raise timeoutMs.`;
  return new BusError('request_timeout', words);
}

function aborted(topic: string, signal: AbortSignal | undefined): BusError {
  return new BusError('request_aborted', `The request on ${topic} was given up.`, { cause: signal?.reason });
}
