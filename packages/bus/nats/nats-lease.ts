import type { KV, KvEntry } from '@nats-io/kv';
import { type NatsConnection, NoRespondersError, RequestError } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { createId } from '../identifier.ts';
import type { BusLogger, Lease, LeaseOptions } from '../port.ts';

/** Begins the id of a holder that can be asked whether it is there. */
const askable = 'present-';

interface LeaseDeps {
  bucket: KV;
  presence: Presence;
  /** Creates the bucket again if it is gone; never rejects. */
  restore(): Promise<void>;
  logger: BusLogger;
}

/**
 * A lease as a key that only its holder may change and that vanishes by itself when it is not renewed.
 * The holder counts its time from before it asked, so it gives up earlier than the server lets anyone follow.
 * Where the server says twice that the holder's connection has ended, another follows at once; a holder that lives and
 * has lost its connection gives up in the time between the two questions.
 * The revision at which it won is its token: revisions only grow.
 */
export class NatsLease implements Lease {
  readonly name: string;
  readonly #bucket: KV;
  readonly #options: LeaseOptions;
  readonly #logger: BusLogger;
  readonly #presence: Presence;
  readonly #restore: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #holder = createId();
  #hide: () => void = () => undefined;
  /** The revision whose holder is gone, and when that was heard first. */
  #abandoned = { revision: 0, since: 0 };
  #soon: NodeJS.Timeout | undefined;
  #cutOff: NodeJS.Timeout | undefined;
  #token: number | undefined;
  #revision = 0;
  #expires = 0;
  #expiresByCalendar = 0;
  #expiry: NodeJS.Timeout | undefined;
  #busy: Promise<void> = Promise.resolve();
  /** The try that waits for the one at work. */
  #next: Promise<void> | undefined;
  #released = false;

  constructor(name: string, options: LeaseOptions, deps: LeaseDeps) {
    this.name = name;
    this.#bucket = deps.bucket;
    this.#options = options;
    this.#presence = deps.presence;
    this.#restore = deps.restore;
    this.#logger = deps.logger;
    this.#timer = setInterval(() => void this.#turn(), options.ttlMs / 4).unref();
  }

  /** The steady clock stands still while the machine sleeps, the calendar may be set back: both must allow it. */
  get token(): number | undefined {
    const inTime = performance.now() < this.#expires && Date.now() < this.#expiresByCalendar;
    return inTime ? this.#token : undefined;
  }

  /** The first try; whoever does not win keeps trying. */
  async begin(): Promise<void> {
    const { canBeAsked, hide } = await this.#presence.show(this.#holder);
    this.#hide = hide;
    if (canBeAsked) this.#holder = `${askable}${this.#holder}`;
    await this.#turn();
  }

  /** Without a connection the lease is given up before another can have it. */
  connectionChanged(isConnected: boolean): void {
    clearTimeout(this.#cutOff);
    if (!isConnected) this.#cutOff = setTimeout(() => this.#lose(), this.#shortWaitMs).unref();
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
    clearTimeout(this.#soon);
    clearTimeout(this.#cutOff);
    await this.#busy;
    this.#hide();
    const held = this.token !== undefined;
    const revision = this.#revision;
    this.#lose();
    if (held) await this.#bucket.delete(this.name, { previousSeq: revision });
  }

  /** One try after the other, whoever asks for it; all who ask while one is at work share the next. */
  #turn(): Promise<void> {
    this.#next ??= this.#busy.then(() => {
      this.#next = undefined;
      return this.#try();
    });
    this.#busy = this.#next;
    return this.#next;
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
      const holder = entry?.operation === 'PUT' ? entry.string() : undefined;
      if (entry !== null && holder === this.#holder) await this.#goOn(entry);
      else {
        this.#lose();
        if (entry !== null && holder !== undefined) await this.#followIfGone(entry, holder);
      }
    } catch {
      this.#logger.warn({ lease: this.name, err: error }, 'failed to renew lease');
      void this.#restore();
    }
  }

  /** It is still held in the store, also by one who had given it up when it lost its connection. */
  async #goOn(entry: KvEntry): Promise<void> {
    if (this.#token === undefined) await this.#takeOver(entry);
    else this.#revision = entry.revision;
  }

  async #followIfGone(entry: KvEntry, holder: string): Promise<void> {
    const isGone = holder.startsWith(askable) && (await this.#presence.isGone(holder.slice(askable.length)));
    const now = performance.now();
    const { revision } = entry;
    if (!isGone) this.#abandoned = { revision: 0, since: 0 };
    else if (this.#abandoned.revision !== revision) this.#askSoon({ revision, since: now });
    else if (now - this.#abandoned.since >= this.#shortWaitMs) await this.#takeOver(entry);
  }

  #askSoon(abandoned: { revision: number; since: number }): void {
    this.#abandoned = abandoned;
    clearTimeout(this.#soon);
    // A timer may be a millisecond early.
    this.#soon = setTimeout(() => void this.#turn(), this.#shortWaitMs + 2).unref();
  }

  async #takeOver({ revision }: KvEntry): Promise<void> {
    const asked = performance.now();
    this.#win(await this.#bucket.update(this.name, this.#holder, revision), asked);
  }

  get #shortWaitMs(): number {
    return this.#options.ttlMs / 8;
  }
}

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
