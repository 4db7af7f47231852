import type { KV } from '@nats-io/kv';
import { BusError } from '../errors.ts';
import { createId } from '../identifier.ts';
import type { BusLogger, Lease, LeaseOptions } from '../port.ts';

/**
 * A lease as a key that only its holder may change and that vanishes by itself when it is not renewed.
 * The holder counts its time from before it asked, so it gives up earlier than the server lets anyone follow.
 * The revision at which it won is its token: revisions only grow.
 */
export class NatsLease implements Lease {
  readonly name: string;
  readonly #bucket: KV;
  readonly #options: LeaseOptions;
  readonly #logger: BusLogger;
  readonly #holder = createId();
  readonly #timer: NodeJS.Timeout;
  #token: number | undefined;
  #revision = 0;
  #expires = 0;
  #expiresByCalendar = 0;
  #expiry: NodeJS.Timeout | undefined;
  #busy: Promise<void> = Promise.resolve();
  #released = false;

  constructor(name: string, bucket: KV, options: LeaseOptions, logger: BusLogger) {
    this.name = name;
    this.#bucket = bucket;
    this.#options = options;
    this.#logger = logger;
    this.#timer = setInterval(() => void this.#turn(), options.ttlMs / 4).unref();
  }

  /** The steady clock stands still while the machine sleeps, the calendar may be set back: both must allow it. */
  get token(): number | undefined {
    const inTime = performance.now() < this.#expires && Date.now() < this.#expiresByCalendar;
    return inTime ? this.#token : undefined;
  }

  /** The first try; whoever does not win keeps trying. */
  async begin(): Promise<void> {
    await this.#turn();
  }

  async confirm(): Promise<number> {
    await this.#turn();
    const { token } = this;
    if (token !== undefined) return token;
    throw new BusError(
      'lease_lost',
      `The lease ${this.name} is not held here: leave the work to its holder.`,
    );
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    clearInterval(this.#timer);
    await this.#busy;
    const held = this.token !== undefined;
    const revision = this.#revision;
    this.#lose();
    if (held) await this.#bucket.delete(this.name, { previousSeq: revision });
  }

  /** One try after the other, whoever asks for it. */
  #turn(): Promise<void> {
    this.#busy = this.#busy.then(() => this.#try());
    return this.#busy;
  }

  async #try(): Promise<void> {
    if (this.#released) return;
    const asked = performance.now();
    try {
      if (this.token === undefined) this.#win(await this.#bucket.create(this.name, this.#holder), asked);
      else this.#keep(await this.#bucket.update(this.name, this.#holder, this.#revision), asked);
    } catch (error) {
      await this.#lookAgain(error);
    }
  }

  #win(revision: number, asked: number): void {
    this.#token = revision;
    this.#keep(revision, asked);
    this.#options.onChange?.(revision);
  }

  #keep(revision: number, asked: number): void {
    this.#revision = revision;
    this.#expires = asked + this.#options.ttlMs;
    this.#expiresByCalendar = Date.now() + this.#expires - performance.now();
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#lose(), this.#expires - performance.now()).unref();
  }

  #lose(): void {
    clearTimeout(this.#expiry);
    this.#expires = 0;
    if (this.#token === undefined) return;
    this.#token = undefined;
    this.#options.onChange?.(undefined);
  }

  /** Someone else holds it, or the server cannot be asked: then it lasts until its time is over. */
  async #lookAgain(error: unknown): Promise<void> {
    try {
      const entry = await this.#bucket.get(this.name);
      const mine = entry !== null && entry.operation === 'PUT' && entry.string() === this.#holder;
      if (!mine) this.#lose();
      else if (this.#token !== undefined) this.#revision = entry.revision;
    } catch {
      this.#logger.warn({ lease: this.name, err: error }, 'A lease could not be renewed');
    }
  }
}
