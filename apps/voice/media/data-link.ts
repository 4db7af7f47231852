import type { Logger } from '@trunkline/config';
import type { Clock, Timer } from '@trunkline/schedule';
import { z } from 'zod';
import type { LineMessage } from '../call/line.ts';
import { type Channel, largestMessage } from './peer.ts';

const openLimitMs = 10_000;
const keepaliveMs = 1000;
/** A client that answered before and is silent for longer is gone. */
const silentSeconds = 3;
const longestQueue = 256;
/** With more than this buffered in a channel, messages are dropped. */
const mostWaitingBytes = 1024 * 1024;
/** Per call, as a broken page must not fill the log. */
const mostWarnings = 20;

export interface DataLinkOptions {
  clock: Clock;
  logger: Logger;
  onMessage(message: LineMessage): void;
  onGone(reason: string): void;
}

/** Exchanges messages with the page over its data channel, and notices when the page is gone. */
export class DataLink {
  readonly #options: DataLinkOptions;
  readonly #channels: Channel[] = [];
  /** Messages sent before a channel opened; undefined once that took too long. */
  #waiting: LineMessage[] | undefined = [];
  #opening: Timer | undefined;
  #keepalive: Timer | undefined;
  #answering = false;
  #silentTicks = 0;
  #warnings = 0;
  /** Characters sent since the channel's buffer was last checked. */
  #unchecked = 0;

  constructor(options: DataLinkOptions) {
    this.#options = options;
  }

  /** Starts the time limit for a channel to open. */
  start(): void {
    this.#opening ??= this.#options.clock.setTimer(openLimitMs, () => {
      this.#warn({}, 'data channel did not open within 10 seconds; call continues with audio only');
      this.#waiting = undefined;
    });
  }

  stop(): void {
    this.#opening?.cancel();
    this.#keepalive?.cancel();
    this.#waiting = undefined;
    this.#channels.length = 0;
  }

  /** The connection was replaced: forgets its channels. */
  forget(): void {
    this.#channels.length = 0;
    this.#answering = false;
    this.#silentTicks = 0;
  }

  opened(channel: Channel): void {
    this.#opening?.cancel();
    this.#channels.push(channel);
    this.#keepalive ??= this.#tick();
    for (const message of this.#waiting?.splice(0) ?? []) this.send(message);
  }

  /** Returns whether it was the last one. */
  closed(channel: Channel): boolean {
    const index = this.#channels.indexOf(channel);
    if (index >= 0) this.#channels.splice(index, 1);
    return index >= 0 && this.#channels.length === 0;
  }

  get hasWaiting(): boolean {
    return this.#channels.length === 0 && (this.#waiting?.length ?? 0) > 0;
  }

  send(message: LineMessage): void {
    const channel = this.#channel;
    if (channel === undefined) this.#keepForLater(message);
    else if (this.#keepsUp(channel)) this.#post(channel, sealEnvelope(message));
    else this.#warn({ type: message.type }, 'data channel buffer is full; message dropped');
  }

  #post(channel: Channel, text: string): void {
    this.#unchecked += text.length;
    channel.send(text);
  }

  /** Checks the buffer only after much was sent, as asking the library is slow. */
  #keepsUp(channel: Channel): boolean {
    if (this.#unchecked < mostWaitingBytes) return true;
    this.#unchecked = channel.waiting;
    return this.#unchecked < mostWaitingBytes;
  }

  received(message: string | ArrayBuffer): void {
    this.#silentTicks = 0;
    if (typeof message !== 'string') this.#warn({}, 'binary message ignored');
    else if (message.length > largestMessage) this.#warn({}, 'oversized message ignored');
    else if (/^(ping|pong)\b/.test(message)) this.#answering = true;
    else this.#open(message);
  }

  #open(text: string): void {
    const message = openEnvelope(text);
    if (message === undefined) this.#warn({}, 'malformed message ignored');
    else this.#options.onMessage(message);
  }

  /** A client that created a channel listens there. */
  get #channel(): Channel | undefined {
    return this.#channels.findLast(({ madeBy }) => madeBy === 'client') ?? this.#channels.at(-1);
  }

  #keepForLater(message: LineMessage): void {
    if (this.#waiting !== undefined && this.#waiting.length < longestQueue) this.#waiting.push(message);
  }

  #tick(): Timer {
    return this.#options.clock.setTimer(keepaliveMs, () => {
      this.#keepalive = this.#tick();
      this.#channel?.send(`ping: ${this.#options.clock.now()}`);
      this.#silentTicks += 1;
      if (this.#answering && this.#silentTicks > silentSeconds)
        this.#options.onGone(`nothing was heard for ${silentSeconds} seconds`);
    });
  }

  #warn(fields: object, message: string): void {
    this.#warnings += 1;
    if (this.#warnings <= mostWarnings) this.#options.logger.warn(fields, message);
  }
}

const label = 'rtvi-ai';
const envelope = z.object({
  label: z.literal(label),
  type: z.string().min(1).max(100),
  id: z.union([z.string(), z.number().transform(String)]).optional(),
  data: z.unknown().optional(),
});

/** Undefined if the text is no RTVI envelope. */
function openEnvelope(text: string): LineMessage | undefined {
  try {
    const { type, id, data } = envelope.parse(JSON.parse(text));
    return { type, ...(id !== undefined && { id }), ...(data !== undefined && { data }) };
  } catch {
    // The caller warns.
    return undefined;
  }
}

function sealEnvelope(message: LineMessage): string {
  return JSON.stringify({ label, ...message });
}
