import type { ConsumerInfo, StreamState } from '@nats-io/jetstream';
import { BusError } from '../errors.ts';
import type { Settings } from '../options.ts';
import { caughtUp } from './durable-consumers.ts';
import { found } from './jetstream-errors.ts';
import type { Resources } from './resources.ts';

/** From this share of the size on old messages go, until so much is left. */
const crowdedShare = 0.8;
const relaxedShare = 0.6;

interface Floor {
  position: number;
  /** The durable name that is furthest behind; undefined when none is. */
  name: string | undefined;
}

/** Removes old messages from the journal stream, never one that a durable name has still to handle. */
export class NatsRetention {
  readonly #resources: Resources;
  readonly #settings: Settings;

  constructor(resources: Resources, settings: Settings) {
    this.#resources = resources;
    this.#settings = settings;
  }

  async prune(): Promise<void> {
    const { state } = await this.#info();
    if (state.messages === 0) return;
    const floor = await this.#floor(state.last_seq);
    const wanted = Math.max(
      await this.#lastOlderThan(Date.now() - this.#settings.retainMs, state),
      this.#crowded(state),
    );
    await this.#removeUpTo(Math.min(wanted, floor.position), state);
  }

  /** Called when the stream refused a message. Gives the refusal when nothing may go. */
  async makeRoom(): Promise<BusError | undefined> {
    const { state } = await this.#info();
    const floor = await this.#floor(state.last_seq);
    const surplus = state.first_seq + Math.ceil(state.messages * (1 - relaxedShare)) - 1;
    const removed = await this.#removeUpTo(Math.min(surplus, floor.position), state);
    return removed ? undefined : this.#full(floor.name);
  }

  #info() {
    return this.#resources.manager.streams.info(this.#resources.journal);
  }

  /** Up to here every durable name has handled what is for it. */
  async #floor(last: number): Promise<Floor> {
    let floor: Floor = { position: last, name: undefined };
    for await (const info of this.#resources.manager.consumers.list(this.#resources.journal)) {
      if (info.config.durable_name === undefined || caughtUp(info)) continue;
      const position = await this.#floorOf(info, last);
      if (position <= floor.position) floor = { position, name: info.name };
    }
    return floor;
  }

  /** Up to the message before the first that the name has not finished. */
  async #floorOf({ ack_floor, config }: ConsumerInfo, last: number): Promise<number> {
    const { manager, journal } = this.#resources;
    const query = { seq: ack_floor.stream_seq + 1, next_by_subj: config.filter_subject ?? '>' };
    const next = await found(manager.streams.getMessage(journal, query));
    return next ? next.seq - 1 : last;
  }

  #crowded({ bytes, messages, first_seq }: StreamState): number {
    const { retainBytes } = this.#settings;
    if (bytes < retainBytes * crowdedShare) return 0;
    return first_seq + Math.ceil(messages * (1 - (retainBytes * relaxedShare) / bytes)) - 1;
  }

  /** The last message stored before the time, found by halving the range. */
  async #lastOlderThan(time: number, { first_seq, last_seq }: StreamState): Promise<number> {
    let low = first_seq - 1;
    let high = last_seq;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const stored = await found(
        this.#resources.manager.streams.getMessage(this.#resources.journal, { seq: middle }),
      );
      // A message that is gone was old enough.
      if (!stored || stored.time.getTime() < time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #removeUpTo(position: number, { first_seq }: StreamState): Promise<boolean> {
    if (position < first_seq) return false;
    const { manager, journal } = this.#resources;
    const { purged } = await manager.streams.purge(journal, { seq: position + 1 });
    return purged > 0;
  }

  #full(name: string | undefined): BusError {
    const words = `The bus journal on NATS is at its limit of ${this.#settings.retainBytes} bytes and the durable name ${name} has still to handle all of it: see why its subscriber stands still, or raise the journal's size.`;
    return new BusError('journal_full', words);
  }
}
