import { BusError } from '../errors.ts';
import { checkName, createId } from '../identifier.ts';
import type { Bus, Handler, Message, RequestOptions, SubscribeOptions, Subscription } from '../port.ts';
import { checkPattern } from '../topics/topic.ts';
import type { DurableOptions, Member } from './attempts.ts';
import type { LiveLimits, LiveOptions } from './live-subscription.ts';

const defaultLimits: LiveLimits = { concurrency: 1, queueLimit: 1000, policy: 'drop-oldest' };

const policyWords =
  'A durable subscription drops nothing, so it takes no "policy": leave it out, or subscribe without "durable".';

const beginWords =
  'Only the attempts of a durable subscription are counted, so others take no "explicitBegin": leave it out, or give "durable".';

/** Requests waiting for an answer at once. */
const maximumWaiting = 10_000;

/** Asks and waits for one answer. All answers to this bus come in by one subscription, made at the first request. */
export class Requests {
  readonly #bus: Pick<Bus, 'publish' | 'subscribe'>;
  readonly #prefix = `reply.${createId()}`;
  readonly #waiting = new Map<string, (answer: Message) => void>();
  #subscription: Promise<Subscription> | undefined;

  constructor(bus: Pick<Bus, 'publish' | 'subscribe'>) {
    this.#bus = bus;
  }

  async request(topic: string, payload: unknown, options: RequestOptions): Promise<Message> {
    this.#checkRoom();
    this.#subscription ??= this.#listen();
    await this.#subscription;
    if (options.signal?.aborted) throw aborted(topic, options.signal);
    const id = createId();
    const replyTopic = `${this.#prefix}.${id}`;
    const answer = this.#answer(topic, replyTopic, options);
    const { correlationId, source, principal } = options;
    const published = this.#bus.publish({
      topic,
      payload,
      id,
      correlationId,
      source,
      principal,
      reply: { topic: replyTopic },
    });
    // The first failure wins; an answer may come before the publisher's own confirmation.
    const [message] = await Promise.all([answer.promise, published]).finally(answer.cancel);
    return message;
  }

  #listen(): Promise<Subscription> {
    const hear = (answer: Message) => this.#waiting.get(answer.topic)?.(answer);
    const subscription = this.#bus.subscribe(`${this.#prefix}.*`, hear, { queueLimit: maximumWaiting });
    subscription.catch(() => {
      this.#subscription = undefined;
    });
    return subscription;
  }

  #answer(topic: string, replyTopic: string, { timeoutMs, signal }: RequestOptions) {
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const timer = setTimeout(() => reject(timedOut(topic, timeoutMs)), timeoutMs);
    const abort = () => reject(aborted(topic, signal));
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.set(replyTopic, resolve);
    const cancel = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      this.#waiting.delete(replyTopic);
    };
    return { promise, cancel };
  }

  #checkRoom(): void {
    if (this.#waiting.size < maximumWaiting) return;
    throw new BusError(
      'overloaded',
      `${maximumWaiting} requests wait for an answer already: ask fewer at once.`,
    );
  }
}

function timedOut(topic: string, timeoutMs: number): BusError {
  const words = `Nobody answered on ${topic} within ${timeoutMs} ms: see that its subscriber runs, or raise timeoutMs.`;
  return new BusError('request_timeout', words);
}

function aborted(topic: string, signal: AbortSignal | undefined): BusError {
  return new BusError('request_aborted', `The request on ${topic} was given up.`, { cause: signal?.reason });
}

type CheckedSubscription =
  | { kind: 'live'; group: string | undefined; live: LiveOptions }
  | { kind: 'durable'; durable: DurableOptions; member: Member };

/** Checks what a subscriber asks for and fills in the defaults. */
export function checkSubscription(
  pattern: string,
  handler: Handler,
  options: SubscribeOptions,
): CheckedSubscription {
  checkPattern(pattern);
  const { durable, group, policy, plugin } = options;
  if (durable !== undefined) checkName('durable', durable);
  if (group !== undefined) checkName('group', group);
  const concurrency = checkCount('concurrency', options.concurrency ?? defaultLimits.concurrency);
  const queueLimit = checkCount('queueLimit', options.queueLimit ?? defaultLimits.queueLimit);
  if (durable === undefined) {
    if (options.explicitBegin) throw new BusError('options_refused', beginWords);
    const limits = sharedLimits({ concurrency, queueLimit, policy: policy ?? defaultLimits.policy });
    return { kind: 'live', group, live: { pattern, handler, plugin, limits } };
  }
  if (policy !== undefined) throw new BusError('options_refused', policyWords);
  return {
    kind: 'durable',
    durable: { name: durable, pattern, group, concurrency, queueLimit },
    member: { handler, plugin, explicitBegin: options.explicitBegin ?? false },
  };
}

/** Most subscriptions have the defaults: those hold one object together. */
function sharedLimits(limits: LiveLimits): LiveLimits {
  const keys = Object.keys(defaultLimits) as (keyof LiveLimits)[];
  return keys.every((key) => limits[key] === defaultLimits[key]) ? defaultLimits : limits;
}

/** Throws when a second subscriber of a durable name asks for something else than the first. */
export function checkSameDurable(known: DurableOptions, wanted: DurableOptions): void {
  const differing = (['pattern', 'group', 'concurrency'] as const).find((key) => known[key] !== wanted[key]);
  if (differing === undefined) return;
  const words = `The durable name ${known.name} is in use with ${differing} ${JSON.stringify(known[differing])}, not ${JSON.stringify(wanted[differing])}: subscribe alike, or use another name.`;
  throw new BusError('durable_conflict', words);
}

function checkCount(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new BusError('options_refused', `${option} is ${value}: give a whole number of at least 1.`);
}
