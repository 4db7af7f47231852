import { AckPolicy, type ConsumerConfig, type ConsumerInfo, DeliverPolicy } from '@nats-io/jetstream';
import { type Msg, type MsgHdrs, nanos } from '@nats-io/transport-node';
import type { DurableOptions } from '../delivery/attempts.ts';
import type { Settings } from '../options.ts';
import { found } from './jetstream-errors.ts';
import type { NatsSettings } from './options.ts';
import { filterOf, type Resources } from './resources.ts';

type NamedConfig = Partial<ConsumerConfig> & { durable_name: string };

/** Unfinished messages of a durable name that is shared by a group. */
const groupPending = 10_000;

/** Keeps the cursors of durable names: one JetStream consumer each, shared by all buses with the same prefix. */
export class DurableConsumers {
  readonly #resources: Resources;
  readonly #settings: Settings;
  readonly #natsSettings: NatsSettings;

  constructor(resources: Resources, settings: Settings, natsSettings: NatsSettings) {
    this.#resources = resources;
    this.#settings = settings;
    this.#natsSettings = natsSettings;
  }

  /** Makes the consumer, beginning now, or brings it to these options. */
  async ensure(options: DurableOptions): Promise<void> {
    const { manager, journal } = this.#resources;
    const wanted = this.#config(options);
    const known = await this.info(options.name);
    if (known === undefined) await this.#make(wanted);
    else if (known.config.filter_subject !== wanted.filter_subject)
      await this.#moveTo(wanted, await this.#place(known));
    else await manager.consumers.update(journal, options.name, wanted);
  }

  /** Creates the consumer at the start of the journal: the journal is new, and nobody has handled any of it. */
  async beginAgain(options: DurableOptions): Promise<void> {
    if ((await this.info(options.name)) === undefined) await this.#beginAfter(this.#config(options), 0);
  }

  info(name: string): Promise<ConsumerInfo | undefined> {
    return found(this.#resources.manager.consumers.info(this.#resources.journal, name));
  }

  async forget(name: string): Promise<void> {
    await this.#resources.progress.delete(moveKey(name));
    await this.#remove(name);
  }

  /** Sets the cursor; false when the name is unknown. */
  async moveTo(name: string, after: number): Promise<boolean> {
    const known = await this.info(name);
    if (known === undefined) return false;
    await this.#moveTo({ ...known.config, durable_name: name }, after);
    return true;
  }

  /** A consumer without work does not move past what is not for it; should its pattern change, this tells how far it was. */
  async notePlace(name: string): Promise<void> {
    const { state } = await this.#resources.manager.streams.info(this.#resources.journal);
    const known = await this.info(name);
    if (known === undefined || !caughtUp(known)) return;
    await this.#resources.progress.put(placeKey(name), String(state.last_seq));
  }

  async #place(known: ConsumerInfo): Promise<number> {
    const noted = await this.#resources.progress.get(placeKey(known.name));
    return Math.max(known.ack_floor.stream_seq, Number(noted?.string() ?? 0));
  }

  /** A new name begins now; one whose move was cut off goes on where it was to go. */
  async #make(config: NamedConfig): Promise<void> {
    const { manager, journal, progress } = this.#resources;
    const move = await progress.get(moveKey(config.durable_name));
    if (move?.operation === 'PUT') await this.#beginAfter(config, Number(move.string()));
    else await manager.consumers.add(journal, { ...config, deliver_policy: DeliverPolicy.New });
  }

  /** The server cannot move a consumer: it is made anew. Where to is noted first, should this process end in between. */
  async #moveTo(config: NamedConfig, after: number): Promise<void> {
    await this.#resources.progress.put(moveKey(config.durable_name), String(after));
    await this.#remove(config.durable_name);
    await this.#beginAfter(config, after);
  }

  async #beginAfter(config: NamedConfig, after: number): Promise<void> {
    const { manager, journal, progress } = this.#resources;
    await manager.consumers.add(journal, {
      ...config,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(after + 1, 1),
    });
    await progress.delete(moveKey(config.durable_name));
  }

  async #remove(name: string): Promise<void> {
    await found(this.#resources.manager.consumers.delete(this.#resources.journal, name));
  }

  /** Without a group as many messages may be unfinished as handlers may run, which keeps the order also after a crash. */
  #config({ name, pattern, group, concurrency }: DurableOptions) {
    return {
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(this.#natsSettings.ackWaitMs),
      filter_subject: filterOf(this.#natsSettings.prefix, pattern),
      max_ack_pending: group === undefined ? concurrency : groupPending,
      inactive_threshold: nanos(this.#settings.forgetAfterMs),
    };
  }
}

/** Whether a durable name has handled all that is for it. */
export function caughtUp({ num_pending, num_ack_pending }: ConsumerInfo): boolean {
  return num_pending === 0 && num_ack_pending === 0;
}

function placeKey(name: string): string {
  return `place.${name}`;
}

function moveKey(name: string): string {
  return `move.${name}`;
}

export const acknowledgement = '+ACK';

/** A message of a JetStream consumer; what becomes of it is told on its reply subject. */
export class PulledMessage {
  readonly position: number;
  readonly redelivered: boolean;
  readonly #message: Msg;

  constructor(message: Msg) {
    this.#message = message;
    const { deliveries, sequence } = deliveryInfo(message.reply ?? '');
    this.position = sequence;
    this.redelivered = deliveries > 1;
  }

  get reply(): string {
    return this.#message.reply ?? '';
  }

  get subject(): string {
    return this.#message.subject;
  }

  get headers(): MsgHdrs | undefined {
    return this.#message.headers;
  }

  string(): string {
    return this.#message.string();
  }

  /** Acknowledges the message. */
  finish(): void {
    this.#message.respond(acknowledgement);
  }

  /** Prevents redelivery. */
  refuse(): void {
    this.#message.respond('+TERM');
  }

  /** Hands the message to another consumer. */
  handBack(delayMs = 0): void {
    this.#message.respond(delayMs === 0 ? '-NAK' : `-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`);
  }

  /** Extends the acknowledgement deadline. */
  showLife(): void {
    this.#message.respond('+WPI');
  }
}

/** `$JS.ACK.stream.consumer.deliveries.sequence...`; servers with domains put two more tokens before the stream. */
function deliveryInfo(reply: string): { deliveries: number; sequence: number } {
  const tokens = reply.split('.');
  const first = tokens.length > 9 ? 6 : 4;
  return { deliveries: Number(tokens[first]), sequence: Number(tokens[first + 1]) };
}
