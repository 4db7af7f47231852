import type { Bus, BusLogger, Message, SubscribeOptions } from '@trunkline/bus';
import { vi } from 'vitest';
import type { CommonOptions } from '../options.ts';

/** One engine with a store of its own; buses opened one after the other share that store. */
export interface World {
  open(options?: CommonOptions): Promise<Bus>;
  close(): Promise<void>;
}

export type WorldFactory = () => Promise<World>;

/** Long enough for a machine that does ten other things. */
export const patience = { timeout: 30_000, interval: 5 };

export interface Heard {
  messages: Message[];
  payloads(): unknown[];
  /** Waits until so many messages have come. */
  count(expected: number): Promise<void>;
}

/** Subscribes and keeps what comes. */
export async function listen(bus: Bus, pattern: string, options: SubscribeOptions = {}): Promise<Heard> {
  const messages: Message[] = [];
  await bus.subscribe(pattern, (message) => void messages.push(message), options);
  return heard(messages);
}

export function heard(messages: Message[]): Heard {
  return {
    messages,
    payloads: () => messages.map((message) => message.payload),
    async count(expected) {
      await vi.waitFor(() => {
        if (messages.length < expected) throw new Error(`${messages.length} of ${expected} messages came`);
      }, patience);
    },
  };
}

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  details: { topic?: string };
  text: string;
}

export function recordingLogger(): BusLogger & { lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (details: object, text: string) =>
    void lines.push({ level, details, text });
  return { lines, info: at('info'), warn: at('warn'), error: at('error') };
}

/** A door that handlers wait at until the test opens it. */
export function gate(): { passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}

export const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, index) => first + index);

/** The item of a list that must have one there. */
export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`There is no item ${index} among ${items.length}`);
  return item;
}
