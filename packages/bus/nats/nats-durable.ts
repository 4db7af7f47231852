import type { DurableOptions, Member } from '../delivery/attempts.ts';
import type { DurableDelivery } from '../delivery/durable-delivery.ts';
import { checkSameDurable } from '../delivery/requests.ts';
import { unknownDurable } from '../errors.ts';
import type { Subscription } from '../port.ts';
import { DurablePuller, type PullerContext } from './durable-puller.ts';

/** The durable names that this process has subscribed to, each with what fetches its messages. */
export class NatsDurable {
  readonly #context: PullerContext;
  /** Kept when the last subscriber leaves: handlers at work still finish on it. */
  readonly #pullers = new Map<string, DurablePuller>();
  /** Changes of one name happen one after the other. */
  readonly #changes = new Map<string, Promise<unknown>>();

  constructor(context: PullerContext) {
    this.#context = context;
  }

  deliveries(): DurableDelivery[] {
    return [...this.#pullers.values()].map(({ delivery }) => delivery);
  }

  add(options: DurableOptions, member: Member): Promise<Subscription> {
    return this.#inTurn(options.name, async () => {
      const puller = await this.#puller(options);
      puller.delivery.join(member);
      puller.ask();
      return {
        pattern: options.pattern,
        unsubscribe: () => this.#inTurn(options.name, () => this.#leave(puller, member)),
        forget: () => this.#inTurn(options.name, () => this.#forget(puller, member)),
      };
    });
  }

  moveCursor(name: string, after: number): Promise<void> {
    return this.#inTurn(name, async () => {
      const puller = this.#pullers.get(name);
      puller?.detach();
      try {
        const { consumers, untilElected } = this.#context;
        if (!(await untilElected(() => consumers.moveTo(name, after)))) throw unknownDurable(name);
      } finally {
        puller?.resume();
      }
    });
  }

  /** Messages that wait for this process alone: those of the names in use that no group shares. */
  async behind(): Promise<number> {
    const own = this.deliveries().filter(
      ({ members, options }) => members > 0 && options.group === undefined,
    );
    const infos = await Promise.all(own.map(({ options }) => this.#context.consumers.info(options.name)));
    return infos.reduce((sum, info) => sum + (info?.num_pending ?? 0) + (info?.num_ack_pending ?? 0), 0);
  }

  /** Notes how far the names in use have come. */
  async checkpoint(): Promise<void> {
    for (const puller of this.#pullers.values()) {
      if (puller.delivery.members > 0) await this.#context.consumers.notePlace(puller.name);
    }
  }

  /** Begins nothing new. */
  close(): void {
    for (const puller of this.#pullers.values()) puller.close();
  }

  async end(): Promise<void> {
    await Promise.all([...this.#pullers.values()].map((puller) => puller.end()));
  }

  async #puller(options: DurableOptions): Promise<DurablePuller> {
    const known = this.#pullers.get(options.name);
    if (known !== undefined && known.delivery.members > 0) {
      checkSameDurable(known.delivery.options, options);
      return known;
    }
    if (known !== undefined && known.delivery.options.pattern !== options.pattern) known.detach();
    await this.#context.untilElected(() => this.#context.consumers.ensure(options));
    const puller = known ?? new DurablePuller(options, this.#context);
    puller.delivery.options = options;
    this.#pullers.set(options.name, puller);
    puller.resume();
    return puller;
  }

  async #leave(puller: DurablePuller, member: Member): Promise<void> {
    if (!puller.delivery.leave(member) || puller.delivery.members > 0) return;
    const { connection, consumers, delivery } = this.#context;
    if (!connection.connected) return;
    // It has left, whether that can be noted or not.
    await consumers
      .notePlace(puller.name)
      .catch((error: unknown) =>
        delivery.logger.warn({ durable: puller.name, err: error }, 'failed to note place of durable name'),
      );
  }

  async #forget(puller: DurablePuller, member: Member): Promise<void> {
    puller.delivery.leave(member);
    if (puller.delivery.members > 0) return;
    this.#pullers.delete(puller.name);
    puller.detach();
    puller.close();
    await puller.end();
    await this.#context.consumers.forget(puller.name);
  }

  #inTurn<Result>(name: string, change: () => Promise<Result>): Promise<Result> {
    const before = this.#changes.get(name) ?? Promise.resolve();
    const result = before.then(change, change);
    this.#changes.set(name, result);
    return result;
  }
}
