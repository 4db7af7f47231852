import { setTimeout as delay } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import { checkKey, checkValue } from '../options.ts';
import type { Memory } from '../port.ts';

export interface NatsMemorySettings {
  name: string;
  bucket: KV;
  /** Characters of a value. */
  longest: number | undefined;
  /** How long a server that is away is waited for. */
  limitMs: number;
  /** How many questions may wait at once. */
  maxPending: number;
  /** Aborted when the bus stops. */
  signal: AbortSignal;
  /** Creates the bucket again if it is gone; never rejects. */
  restore(): Promise<void>;
}

const retryAfterMs = 100;

/** A memory in a key-value bucket whose keys expire. */
export class NatsMemory implements Memory {
  readonly #settings: NatsMemorySettings;
  #pending = 0;

  constructor(settings: NatsMemorySettings) {
    this.#settings = settings;
  }

  async recall(key: string): Promise<string | undefined> {
    const place = this.#placeOf(key);
    return await this.#ask(() => this.#read(place));
  }

  async keep(key: string, value: string): Promise<string> {
    checkValue(value, this.#settings.longest);
    const place = this.#placeOf(key);
    return await this.#ask(() => this.#keep(place, value));
  }

  async replace(key: string, value: string): Promise<void> {
    checkValue(value, this.#settings.longest);
    const place = this.#placeOf(key);
    await this.#ask(() => this.#settings.bucket.put(place, value));
  }

  async forget(key: string): Promise<void> {
    const place = this.#placeOf(key);
    await this.#ask(() => this.#settings.bucket.purge(place));
  }

  /** The server refuses a second create; its caller reads the value of the first. */
  async #keep(place: string, value: string): Promise<string> {
    try {
      await this.#settings.bucket.create(place, value);
      return value;
    } catch (error) {
      const kept = await this.#read(place);
      if (kept === undefined) throw error;
      return kept;
    }
  }

  async #read(place: string): Promise<string | undefined> {
    const entry = await this.#settings.bucket.get(place);
    return entry?.operation === 'PUT' ? entry.string() : undefined;
  }

  #placeOf(key: string): string {
    checkKey(key);
    return `${this.#settings.name}.${key}`;
  }

  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    const { maxPending, name } = this.#settings;
    const words = `${maxPending} questions to ${name} wait for NATS already: see whether it runs, or ask more slowly.`;
    if (this.#pending >= maxPending) throw new BusError('overloaded', words);
    this.#pending += 1;
    try {
      return await this.#untilAnswered(question);
    } finally {
      this.#pending -= 1;
    }
  }

  /** Retries while the server is away. */
  async #untilAnswered<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    const { limitMs, signal } = this.#settings;
    const deadline = performance.now() + limitMs;
    for (;;) {
      try {
        return await question();
      } catch (error) {
        if (signal.aborted || performance.now() > deadline) throw this.#unavailable(error);
        void this.#settings.restore();
        await delay(retryAfterMs);
      }
    }
  }

  #unavailable(cause: unknown): BusError {
    const words = `NATS did not say what is kept in ${this.#settings.name}: ${errorMessage(cause)}. Try again.`;
    return new BusError('unavailable', words, { cause });
  }
}
