import { createInbox, headers, type Msg, type Subscription } from '@nats-io/transport-node';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import type { Connection } from './connection.ts';
import type { NatsSettings } from './options.ts';
import type { StoreConfirmation } from './stream-keeper.ts';

/** Goes to one durable name only: a dead letter on its way back. */
export const onlyForHeader = 'Trunkline-Only';

export interface Parcel {
  subject: string;
  text: string;
  /** Set on what must be stored: the key by which the server knows a second copy. */
  key?: string;
  onlyFor?: string;
}

interface Outgoing extends Parcel {
  deadline: number;
  /** On the clock of `performance`. */
  sentAt?: number;
  /** How often it was called a copy of what is not stored. */
  withoutFirst?: number;
  resolve(): void;
  reject(error: BusError): void;
}

interface Remedies {
  /** Learns what a stream has stored. */
  acknowledged(stream: string, confirmation: StoreConfirmation): void;
  /** Makes room in a full stream; gives the refusal when it cannot. */
  makeRoom(): Promise<BusError | undefined>;
  /** Creates the streams again if they are gone, and adds subjects that they lack; never rejects. */
  restoreStreams(): Promise<void>;
  /** Lets another server lead a stream; never rejects. */
  moveLeader(stream: string): Promise<void>;
  /** Why no stream takes a subject, if that is certain. */
  refusal(subject: string): string | undefined;
}

interface StoreAnswer {
  stream?: string;
  seq?: number;
  duplicate?: boolean;
  error?: { code: number; err_code?: number; description: string };
}

const maximumInFlight = 500;
/** Then a message goes again, under the same key: the leader of the stream may have died with it. */
const answerTimeoutMs = 2000;
const checkEveryMs = 200;
const retryAfterMs = 100;
/** So many times a message may be called a copy of one that is not stored before another server is to lead the stream. */
const mostWithoutFirst = 20;
/** An election takes longer at times, but then nothing can be stored anywhere. */
const stuckAfterMs = 2000;
/** JetStream's code for a stream that takes no more. */
const streamFull = 10_077;
/** JetStream's code, since 2.11, for a message whose first copy the servers have not agreed on yet. */
const copyInProcess = 10_158;

/**
 * Sends messages in the order in which they came, and again in that order after a lost connection, until the server
 * says that it stored them. After every trouble one goes alone until it is stored, so that none can overtake it.
 */
export class Outbox {
  readonly #connection: Connection;
  readonly #settings: NatsSettings;
  readonly #remedies: Remedies;
  readonly #inbox = createInbox();
  readonly #answers: Subscription;
  readonly #timer: NodeJS.Timeout;
  #waiting: Outgoing[] = [];
  #inFlight = new Map<string, Outgoing>();
  #sentAt = 0;
  #number = 0;
  #window = 1;
  #held = false;
  /** Since when nothing was stored, though something waits, and why. */
  #trouble: { since: number; words: string } | undefined;

  constructor(connection: Connection, settings: NatsSettings, remedies: Remedies) {
    this.#connection = connection;
    this.#settings = settings;
    this.#remedies = remedies;
    this.#answers = connection.nats.subscribe(`${this.#inbox}.*`, {
      callback: (_, answer) => this.#settle(answer),
    });
    this.#timer = setInterval(() => this.#check(), checkEveryMs).unref();
    connection.onChange((connected) => {
      this.#takeBack('the connection was lost');
      if (connected) this.#pump();
    });
  }

  /** Messages not answered yet. */
  get pending(): number {
    return this.#waiting.length + this.#inFlight.size;
  }

  /** Why nothing of what waits is stored, as soon as that takes long. */
  get problem(): string | undefined {
    if (this.#trouble === undefined || this.pending === 0) return undefined;
    if (performance.now() - this.#trouble.since < stuckAfterMs) return undefined;
    return `Messages wait for NATS to store them: ${this.#trouble.words}.`;
  }

  /** Resolves when the message is stored or, without a key, sent. */
  send(parcel: Parcel): Promise<void> {
    const { maxPending, publishTimeoutMs } = this.#settings;
    if (this.pending >= maxPending) return Promise.reject(overloaded(maxPending));
    if (this.pending === 0) this.#trouble = undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ ...parcel, deadline: performance.now() + publishTimeoutMs, resolve, reject });
    this.#pump();
    return promise;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#answers.unsubscribe();
    const left = [...this.#inFlight.values(), ...this.#waiting];
    this.#waiting = [];
    this.#inFlight.clear();
    for (const outgoing of left)
      outgoing.reject(new BusError('stopped', 'The bus stopped before NATS took the message.'));
  }

  #pump(): void {
    while (this.#connection.connected && !this.#held && this.#inFlight.size < this.#window) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#sendOne(next);
    }
  }

  #sendOne(outgoing: Outgoing): void {
    try {
      if (outgoing.key === undefined) this.#sendPlain(outgoing);
      else this.#sendStored(outgoing, outgoing.key);
    } catch (error) {
      const words = `NATS does not take the message: ${errorMessage(error)}. See the server's max_payload.`;
      outgoing.reject(new BusError('engine_failed', words, { cause: error }));
    }
  }

  #sendPlain(outgoing: Outgoing): void {
    this.#connection.nats.publish(outgoing.subject, outgoing.text);
    outgoing.resolve();
  }

  #sendStored(outgoing: Outgoing, key: string): void {
    const reply = `${this.#inbox}.${this.#number}`;
    this.#number += 1;
    const marks = headers();
    marks.set('Nats-Msg-Id', key);
    if (outgoing.onlyFor !== undefined) marks.set(onlyForHeader, outgoing.onlyFor);
    this.#connection.nats.publish(outgoing.subject, outgoing.text, { reply, headers: marks });
    outgoing.sentAt = performance.now();
    if (this.#inFlight.size === 0) this.#sentAt = outgoing.sentAt;
    this.#inFlight.set(reply, outgoing);
  }

  #settle(answer: Msg): void {
    const outgoing = this.#inFlight.get(answer.subject);
    if (outgoing === undefined) return;
    this.#sentAt = performance.now();
    if (answer.headers?.code === 503) this.#unheard(answer.subject, outgoing);
    else this.#read(answer.json<StoreAnswer>(), answer.subject, outgoing);
    this.#pump();
  }

  /** Without responders the stream has no leader at the moment, is gone, or does not take the subject. */
  #unheard(reply: string, outgoing: Outgoing): void {
    void this.#remedies.restoreStreams();
    const refusal = this.#remedies.refusal(outgoing.subject);
    if (refusal === undefined) {
      const words = `no stream takes ${outgoing.subject} now, or it has no leader`;
      this.#pause(words, delayed(retryAfterMs));
    } else {
      // It must not hold up what is behind it.
      this.#inFlight.delete(reply);
      outgoing.reject(new BusError('unavailable', refusal));
    }
  }

  #read({ error, stream, seq, duplicate = false }: StoreAnswer, reply: string, outgoing: Outgoing): void {
    if (error === undefined && seq === 0) this.#awaitFirst(stream, outgoing);
    else if (error === undefined) {
      this.#inFlight.delete(reply);
      this.#window = maximumInFlight;
      this.#trouble = undefined;
      const { sentAt = 0 } = outgoing;
      if (stream !== undefined && seq !== undefined)
        this.#remedies.acknowledged(stream, { sequence: seq, isDuplicate: duplicate, sentAt });
      outgoing.resolve();
    } else if (error.err_code === streamFull) this.#pause(error.description, this.#whenRoomIsMade(outgoing));
    else if (error.err_code === copyInProcess) this.#awaitFirst(stream, outgoing);
    else if (error.code >= 500) this.#pause(error.description, delayed(retryAfterMs));
    else {
      this.#inFlight.delete(reply);
      outgoing.reject(new BusError('engine_failed', `NATS refused the message: ${error.description}.`));
    }
  }

  /**
   * Some servers confirm a second copy without a sequence while the first is not stored yet. One that lost the lead at that
   * moment never stores it, and says so for ten minutes when it leads again; another server takes the message.
   */
  #awaitFirst(stream: string | undefined, outgoing: Outgoing): void {
    const times = (outgoing.withoutFirst ?? 0) + 1;
    outgoing.withoutFirst = times;
    if (times % mostWithoutFirst === 0 && stream !== undefined) void this.#remedies.moveLeader(stream);
    this.#pause('it knows the message already and has not stored it', delayed(retryAfterMs));
  }

  async #whenRoomIsMade(outgoing: Outgoing): Promise<void> {
    const refusal = await this.#remedies.makeRoom();
    if (refusal === undefined) return;
    this.#waiting = this.#waiting.filter((other) => other !== outgoing);
    outgoing.reject(refusal);
  }

  /** Takes everything back and sends nothing until the trouble is over. */
  #pause(why: string, over: Promise<void>): void {
    this.#takeBack(why);
    this.#held = true;
    const goOn = () => {
      this.#held = false;
      this.#pump();
    };
    over.then(goOn, goOn);
  }

  #takeBack(why: string): void {
    if (this.pending > 0) this.#trouble = { since: this.#trouble?.since ?? performance.now(), words: why };
    this.#waiting = [...this.#inFlight.values(), ...this.#waiting];
    this.#inFlight.clear();
    this.#window = 1;
  }

  /** Gives up what waited too long, and sends again what the server left unanswered. */
  #check(): void {
    const now = performance.now();
    if (this.#inFlight.size > 0 && now - this.#sentAt > answerTimeoutMs) this.#takeBack('it does not answer');
    this.#giveUp(now);
    this.#pump();
  }

  #giveUp(now: number): void {
    const all = [...this.#inFlight, ...this.#waiting.map((outgoing) => ['', outgoing] as const)];
    const late = all.filter(([, outgoing]) => outgoing.deadline < now);
    if (late.length === 0) return;
    for (const [reply, outgoing] of late) {
      this.#inFlight.delete(reply);
      outgoing.reject(unavailable(this.#settings.publishTimeoutMs, outgoing.key));
    }
    this.#waiting = this.#waiting.filter((outgoing) => outgoing.deadline >= now);
  }
}

async function delayed(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function overloaded(limit: number): BusError {
  const words = `${limit} messages wait for NATS already: see whether it runs, or publish more slowly.`;
  return new BusError('overloaded', words);
}

function unavailable(milliseconds: number, key: string | undefined): BusError {
  const again =
    key === undefined
      ? 'Publish it again.'
      : `It may still have stored it: publish it again with the same id, ${key}.`;
  const words = `NATS did not confirm the message within ${milliseconds} ms. ${again}`;
  return new BusError('unavailable', words);
}
