import type { Logger } from '@trunkline/config';
import type { Clock, Timer } from '@trunkline/schedule';
import { z } from 'zod';
import type { LineMessage } from '../call/line.ts';
import type { Channel } from './peer.ts';

const openLimitMs = 10_000;
const keepaliveMs = 1000;
/** A client that has answered before and is silent for longer is gone. */
const silentSeconds = 3;
const largestMessage = 64 * 1024;
/** Messages that wait for the channel to open. */
const longestQueue = 256;
/** What a channel may hold back before more is dropped. */
const mostWaitingBytes = 1024 * 1024;
/** Warnings of one call; a broken page must not fill the log. */
const mostWarnings = 20;

export interface DataLinkOptions {
  clock: Clock;
  logger: Logger;
  onMessage(message: LineMessage): void;
  onGone(reason: string): void;
}

/** Talks to the page over whichever data channel it has, and notices when the page falls silent. */
export class DataLink {
  readonly #options: DataLinkOptions;
  readonly #channels: Channel[] = [];
  /** What was sent before a channel opened; nothing waits once that took too long. */
  #waiting: LineMessage[] | undefined = [];
  #opening: Timer | undefined;
  #keepalive: Timer | undefined;
  #answering = false;
  #silentTicks = 0;
  #warnings = 0;
  /** Characters sent since the channel was last asked what waits. */
  #unchecked = 0;

  constructor(options: DataLinkOptions) {
    this.#options = options;
  }

  /** From now on a channel should open. */
  start(): void {
    this.#opening ??= this.#options.clock.setTimer(openLimitMs, () => {
      this.#warn({}, 'the data channel did not open within 10 seconds; the call goes on with sound alone');
      this.#waiting = undefined;
    });
  }

  stop(): void {
    this.#opening?.cancel();
    this.#keepalive?.cancel();
    this.#waiting = undefined;
    this.#channels.length = 0;
  }

  /** The connection below is another now: its channels and habits count no more. */
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

  /** Says whether that was the last one. */
  closed(channel: Channel): boolean {
    const index = this.#channels.indexOf(channel);
    if (index >= 0) this.#channels.splice(index, 1);
    return index >= 0 && this.#channels.length === 0;
  }

  /** Whether something was sent that no channel has taken yet. */
  get hasWaiting(): boolean {
    return this.#channels.length === 0 && (this.#waiting?.length ?? 0) > 0;
  }

  send(message: LineMessage): void {
    const channel = this.#channel;
    if (channel === undefined) this.#keepForLater(message);
    else if (this.#keepsUp(channel)) this.#post(channel, sealEnvelope(message));
    else this.#warn({ type: message.type }, 'the page reads too slowly; a message was dropped');
  }

  #post(channel: Channel, text: string): void {
    this.#unchecked += text.length;
    channel.send(text);
  }

  /** Asked only after so much was sent that it may matter, as the library takes its time to say. */
  #keepsUp(channel: Channel): boolean {
    if (this.#unchecked < mostWaitingBytes) return true;
    this.#unchecked = channel.waiting;
    return this.#unchecked < mostWaitingBytes;
  }

  received(message: string | ArrayBuffer): void {
    this.#silentTicks = 0;
    if (typeof message !== 'string') this.#warn({}, 'a binary message was ignored');
    else if (message.length > largestMessage)
      this.#warn({ length: message.length }, 'a message that is too large was ignored');
    else if (/^(ping|pong)\b/.test(message)) this.#answering = true;
    else this.#open(message);
  }

  #open(text: string): void {
    const message = openEnvelope(text);
    if (message === undefined) this.#warn({}, 'a message in no known form was ignored');
    else this.#options.onMessage(message);
  }

  /** A client that made a channel of its own listens there. */
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

  #warn(fields: object, words: string): void {
    this.#warnings += 1;
    if (this.#warnings <= mostWarnings) this.#options.logger.warn(fields, words);
  }
}

const label = 'rtvi-ai';
const envelope = z.object({
  label: z.literal(label),
  type: z.string().min(1).max(100),
  id: z.union([z.string(), z.number().transform(String)]).optional(),
  data: z.unknown().optional(),
});

/** The message in an RTVI envelope; undefined where there is none. */
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
