import { type Bus, checkTopic, type Delivery, escapeSegment, type Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { type Clock, systemClock } from '@trunkline/schedule';
import { z } from 'zod';
import { derivedId, onBehalf } from '../core/messages.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { fieldsOf, text } from '../dispatch/request.ts';

const requestSchema = z.looseObject({
  content: z.string().min(1).max(20_000),
  urgency: z.enum(['low', 'normal', 'high']).default('normal'),
});

type Receipt = { state: 'sent' } | { state: 'failed'; error: string };

/** Longer than a surface retries. */
const receiptMs = 5 * 60_000;
const atOnce = 32;

/** Delivers messages to the operator, and reports when one did not arrive. */
export class OperatorPlugin implements Plugin {
  readonly name = 'operator';
  readonly description = 'Delivers what is meant for the operator, and says when it did not arrive.';
  readonly #clock: Clock;
  readonly #waiting = new Map<string, (receipt: Receipt) => void>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async start({ bus, options, logger }: PluginContext): Promise<void> {
    const topic = options.operatorTopic;
    checkTopic(topic);
    await bus.subscribe('delivery.#', (message) => this.#receipt(message), { plugin: 'operator' });
    const carry = (message: Message, delivery: Delivery) =>
      this.#carry(message, delivery, topic, bus, logger);
    const shared = { durable: 'operator', group: 'operator', concurrency: atOnce, plugin: 'operator' };
    await bus.subscribe('operator.message.request', carry, shared);
  }

  async stop(): Promise<void> {
    for (const settle of [...this.#waiting.values()]) settle({ state: 'sent' });
  }

  async #carry(
    message: Message,
    { signal }: Delivery,
    topic: string,
    bus: Bus,
    logger: Logger,
  ): Promise<void> {
    const parsed = requestSchema.safeParse(message.payload);
    if (!parsed.success) {
      const words = `The message to the operator cannot be used: ${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message}.`;
      return await fail(message, words, bus, logger);
    }
    const id = derivedId(message.id, 'operator');
    const receipt = this.#awaitReceipt(id, topic);
    const { content, urgency } = parsed.data;
    const { correlationId, id: parentId } = message;
    const [source, principal] = [{ interface: 'operator' }, onBehalf(message, 'switchboard')];
    await bus.publish({
      topic,
      id,
      payload: { content, urgency },
      correlationId,
      parentId,
      source,
      principal,
    });
    const outcome = await receipt;
    signal.throwIfAborted();
    if (outcome.state === 'failed') await fail(message, outcome.error, bus, logger);
  }

  #awaitReceipt(id: string, topic: string): Promise<Receipt> {
    const { promise, resolve } = Promise.withResolvers<Receipt>();
    const error = `Nothing has delivered ${topic} so far: switch the surface on, or set OPERATOR_TOPIC to one that is.`;
    const timer = this.#clock.setTimer(receiptMs, () => settle({ state: 'failed', error }));
    const settle = (receipt: Receipt) => {
      timer.cancel();
      this.#waiting.delete(id);
      resolve(receipt);
    };
    this.#waiting.set(id, settle);
    return promise;
  }

  #receipt({ topic, payload }: Message): void {
    const fields = fieldsOf(payload);
    const state = topic.split('.')[1];
    const settle = this.#waiting.get(text(fields.id) ?? '');
    if (state === 'sent') settle?.({ state });
    else if (state === 'failed')
      settle?.({ state, error: text(fields.error) ?? 'the surface could not deliver it' });
  }
}

async function fail(message: Message, error: string, bus: Bus, logger: Logger): Promise<void> {
  const { correlationId, id: parentId } = message;
  logger.error({ correlationId, error }, 'failed to deliver message to the operator');
  await bus.publish({
    topic: `operator.message.failed.${escapeSegment(correlationId)}`,
    payload: { error, messageId: parentId, correlationId },
    correlationId,
    parentId,
    principal: onBehalf(message, 'switchboard'),
  });
}
