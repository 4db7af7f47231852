import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/transport-node';

/**
 * Lets others ask whether a process is there. The server answers for one whose connection has ended, at once;
 * one that stands still, or whose network is cut, is simply not heard and counts as there.
 */
export class Presence {
  readonly #nats: NatsConnection;
  readonly #prefix: string;
  readonly #timeoutMs: number;

  constructor(nats: NatsConnection, prefix: string, timeoutMs: number) {
    this.#nats = nats;
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
  }

  /** Answers under that id until the returned function is called; says whether others can ask. */
  async show(id: string): Promise<{ canBeAsked: boolean; hide: () => void }> {
    const subscription = this.#nats.subscribe(this.#subject(id), {
      callback: (error, message) => {
        if (error === null) message.respond();
      },
    });
    return { canBeAsked: await this.#answers(id), hide: () => subscription.unsubscribe() };
  }

  /** True when the server knows of no such process. */
  async isGone(id: string): Promise<boolean> {
    try {
      await this.#ask(id);
      return false;
    } catch (error) {
      return isUnheard(error);
    }
  }

  /** Where this user may not listen or ask, nobody can be asked. */
  async #answers(id: string): Promise<boolean> {
    try {
      await this.#ask(id);
      return true;
    } catch {
      return false;
    }
  }

  async #ask(id: string): Promise<void> {
    await this.#nats.request(this.#subject(id), undefined, { timeout: this.#timeoutMs });
  }

  #subject(id: string): string {
    return `${this.#prefix}-present.${id}`;
  }
}

function isUnheard(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
}
