import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '@trunkline/std';
import { BusError, NonRetryableError } from '../errors.ts';
import type { Handler, Message } from '../port.ts';
import type { DeliveryContext } from './live-subscription.ts';

/** A journalled message on its way to a durable subscription. */
export interface Entry {
  readonly position: number;
  readonly message: Message;
  /** True when an earlier process may have begun to handle it. */
  readonly redelivered: boolean;
}

/** Where an engine stores the progress of a durable name. */
export interface Ledger {
  /** How often handling was begun or failed, as far as recorded. */
  attempts(entry: Entry): Promise<number>;
  record(entry: Entry, attempts: number): Promise<void>;
  /** The entry is done with and needs no redelivery. */
  finish(entry: Entry): void;
  /** Puts the entry among the dead letters. */
  bury(entry: Entry, attempts: number, error: string): Promise<void>;
}

export interface DurableOptions {
  name: string;
  pattern: string;
  group: string | undefined;
  concurrency: number;
  queueLimit: number;
}

export interface RetryPolicy {
  maxAttempts: number;
  /** Before the second attempt; doubled for each further one, up to `longestRetryDelayMs`. */
  delayMs: number;
}

export interface Member {
  readonly handler: Handler;
  readonly plugin: string | undefined;
  /** The handler itself says when its attempt begins. */
  readonly explicitBegin: boolean;
}

const longestRetryDelayMs = 5000;

/** Where the attempts of one durable name are made and counted. */
export interface AttemptContext {
  /** Name and pattern, as they are now. */
  options(): DurableOptions;
  ledger: Ledger;
  retry: RetryPolicy;
  delivery: DeliveryContext;
  /** Aborted when no further attempt may begin. */
  closing: AbortSignal;
}

/**
 * Handles an entry: again after a failure, and as a dead letter after the last attempt.
 * When it is not finished, because no attempt may begin any more, it is redelivered later.
 */
export async function handleEntry(entry: Entry, member: Member, context: AttemptContext): Promise<void> {
  const { retry, closing } = context;
  const before = entry.redelivered ? await recorded(entry, context) : 0;
  if (before >= retry.maxAttempts) return buryDeadly(entry, member, before, context);
  const count = new AttemptCount(entry, before, context);
  let spared = 0;
  for (let attempt = before + 1; !closing.aborted; attempt += 1) {
    const failure = await attemptOnce(entry, member, { attempt, spared, count }, context);
    if (failure === undefined) return clear(entry, count, context);
    if (closing.aborted) return attempt === before + 1 ? count.takeBack() : undefined;
    if (isOutage(failure.error, spared)) spared += 1;
    else if (isLast(failure.error, attempt - spared, retry))
      return bury(entry, attempt, errorMessage(failure.error), context);
    else await record(entry, attempt - spared, context);
    await pause(attempt, context);
  }
}

function isLast(error: unknown, attempt: number, { maxAttempts }: RetryPolicy): boolean {
  return attempt >= maxAttempts || error instanceof NonRetryableError;
}

/** Attempts while the bus cannot be had: many minutes. A fault that calls itself so ends as any other. */
const mostSpared = 2000;

/** A full disk, and a bus that cannot be had, are no fault of the message, which waits until they are over. */
function isOutage(error: unknown, spared: number): boolean {
  if (!(error instanceof Error)) return false;
  const isBusAway = error instanceof BusError && error.code === 'unavailable' && spared < mostSpared;
  return isBusAway || ('code' in error && error.code === 'disk_full') || isOutage(error.cause, spared);
}

/**
 * Counts the first attempt at a redelivered entry before it begins: should it end the process, the next one knows.
 * What is cut short by a stop is no failure of the message, and is taken back.
 */
class AttemptCount {
  readonly #entry: Entry;
  readonly #before: number;
  readonly #context: AttemptContext;
  #isCounted = false;

  constructor(entry: Entry, before: number, context: AttemptContext) {
    this.#entry = entry;
    this.#before = before;
    this.#context = context;
  }

  async add(): Promise<void> {
    if (this.#isCounted || !this.#entry.redelivered) return;
    this.#isCounted = true;
    await record(this.#entry, this.#before + 1, this.#context);
  }

  async takeBack(): Promise<void> {
    if (this.#isCounted) await record(this.#entry, this.#before, this.#context);
  }
}

/**
 * The engine keeps the end of an entry a little later. Should the next message end the process before that, this one
 * comes again and must not be blamed: the attempt that was counted beforehand is taken back first.
 */
async function clear(entry: Entry, count: AttemptCount, context: AttemptContext): Promise<void> {
  await count.takeBack();
  context.ledger.finish(entry);
}

async function recorded(entry: Entry, context: AttemptContext): Promise<number> {
  try {
    return await context.ledger.attempts(entry);
  } catch (error) {
    warn(entry, error, 'failed to read attempt count', context);
    return 0;
  }
}

/** A count that cannot be kept only means that the message may get more attempts. */
async function record(entry: Entry, attempts: number, context: AttemptContext): Promise<void> {
  try {
    await context.ledger.record(entry, attempts);
  } catch (error) {
    warn(entry, error, 'failed to store attempt count', context);
  }
}

async function attemptOnce(
  { message }: Entry,
  member: Member,
  { attempt, spared, count }: { attempt: number; spared: number; count: AttemptCount },
  context: AttemptContext,
): Promise<{ error: unknown } | undefined> {
  try {
    const { closing, delivery } = context;
    const begin = () => count.add();
    if (!member.explicitBegin) await begin();
    await member.handler(message, { attempt, signal: delivery.signal, stopping: closing, begin });
    return undefined;
  } catch (error) {
    if (context.closing.aborted) return { error };
    const buried = isLast(error, attempt - spared, context.retry) && !isOutage(error, spared);
    report(message, member, { attempt, buried, error }, context);
    return { error };
  }
}

function report(
  message: Message,
  { plugin }: Member,
  failure: { attempt: number; buried: boolean; error: unknown },
  context: AttemptContext,
): void {
  const { name, pattern } = context.options();
  context.delivery.failures.report({ message, pattern, plugin, durable: name, ...failure });
}

/** Buries a message whose handling has ended the process as often as it may fail. */
async function buryDeadly(
  entry: Entry,
  member: Member,
  attempts: number,
  context: AttemptContext,
): Promise<void> {
  const words = `The process ended ${attempts} times while handling this message.`;
  report(entry.message, member, { attempt: attempts, buried: true, error: new Error(words) }, context);
  await bury(entry, attempts, words, context);
}

/** Retries until the dead letter is stored or the bus stops. */
async function bury(entry: Entry, attempts: number, words: string, context: AttemptContext): Promise<void> {
  for (let round = 1; !context.closing.aborted; round += 1) {
    try {
      await context.ledger.bury(entry, attempts, words);
      return context.ledger.finish(entry);
    } catch (error) {
      warn(entry, error, 'failed to store dead letter', context);
      if (error instanceof BusError && error.code === 'stopped') return;
      await pause(round, context);
    }
  }
}

async function pause(round: number, { retry, closing }: AttemptContext): Promise<void> {
  const milliseconds = Math.min(retry.delayMs * 2 ** (round - 1), longestRetryDelayMs);
  try {
    await delay(milliseconds, undefined, { signal: closing });
  } catch (error) {
    if (!closing.aborted) throw error;
  }
}

function warn({ message }: Entry, error: unknown, words: string, context: AttemptContext): void {
  const details = { durable: context.options().name, messageId: message.id, err: error };
  context.delivery.logger.warn(details, words);
}
