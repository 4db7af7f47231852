import { type Bus, type Message, matchesTopic, type Subscription } from '@trunkline/bus';
import { derivedId } from '../../core/messages.ts';
import type { Plugin } from '../../core/plugins.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import type { Surface } from '../surface.ts';
import type { Deliveries } from './deliveries.ts';
import type { DeliveryAttempt } from './outbox.ts';

/** The name of the router among the surfaces of deliveries. */
const router = 'router';
const searched = 1000;

interface KnownSurface {
  name: string;
  /** Why it is off. */
  off?: string | undefined;
  /** What it delivers beside `message.outbound.<name>.#`. */
  durableTopics?: readonly string[] | undefined;
  outlets?: Surface['outlets'] | undefined;
}

/**
 * Records what would vanish otherwise, with its reason, so that it can be sent again: messages to a surface that is off,
 * and messages for which the router found nobody. Starts after the surfaces.
 */
export function createUndelivered(deliveries: Deliveries, surfaces: readonly KnownSurface[]): Plugin {
  const ends: (() => Promise<void>)[] = [];
  const reasonOf = (topic: string): { outlet: string; why: string } | undefined => {
    const known = surfaces.find(
      ({ name, durableTopics = [] }) =>
        matchesTopic(`message.outbound.${name}.#`, topic) ||
        durableTopics.some((pattern) => matchesTopic(pattern, topic)),
    );
    // Programs read the topics of other names themselves.
    if (known === undefined) return undefined;
    const { name, off = 'It did not start; see Plugins.', outlets = {} } = known;
    const [outlet = name] = Object.keys(outlets).filter((other) =>
      outlets[other]?.some((pattern) => matchesTopic(pattern, topic)),
    );
    if (deliveries.isOpen(outlet)) return undefined;
    return {
      outlet,
      why: `The surface ${name} is off, so nobody delivers this. ${off} Then send it again.`,
    };
  };
  return {
    name: 'undelivered',
    description: 'Records messages to surfaces that are off, so that they can be sent later.',
    after: [deliveries.name, ...surfaces.map(({ name }) => name)],
    async start({ bus }) {
      const take = (message: Message) => {
        const reason = reasonOf(message.topic);
        if (reason !== undefined) deliveries.refuse(reason.outlet, message, reason.why);
      };
      const options = { group: 'undelivered', plugin: 'undelivered' };
      const until = (subscription: Subscription) => ends.push(() => subscription.unsubscribe());
      until(await bus.subscribe('message.outbound.#', take, { ...options, durable: 'undelivered' }));
      for (const [index, pattern] of surfaces.flatMap(({ durableTopics = [] }) => durableTopics).entries())
        until(await bus.subscribe(pattern, take, { ...options, durable: `undelivered-${index}` }));
      const refuse = async (dropped: Message) => {
        const found = await originalOf(dropped, bus);
        if (found !== undefined) deliveries.refuse(router, found.message, found.why);
      };
      until(
        await bus.subscribe('dispatch.dropped.no_skill', refuse, {
          ...options,
          durable: 'undelivered-routes',
        }),
      );
      const send = (attempt: DeliveryAttempt) => routeAgain(attempt, bus);
      ends.push(await deliveries.open({ surface: router, patterns: [], send }));
    },
    // Before the surfaces stop: what comes after that is for them, at the next start.
    async stop() {
      await Promise.all(ends.splice(0).map((end) => end()));
    },
  };
}

/** The message that the router refused; undefined for what has a flow that says so. */
async function originalOf({ payload, parentId, correlationId }: Message, bus: Bus) {
  const { topic, why } = fieldsOf(payload);
  const [from, reason] = [text(topic), text(why)];
  if (from === undefined || reason === undefined) return undefined;
  const entries = await bus.history({ topic: from, correlationId, limit: searched });
  const message = entries.find((entry) => entry.message.id === parentId)?.message;
  return message && { message, why: reason };
}

/** Under another id: the bus knows the first one. */
async function routeAgain({ message, done, arrived }: DeliveryAttempt, bus: Bus): Promise<void> {
  const id = derivedId(message.id, `again ${done.length}`);
  await bus.publish({ ...message, id, parentId: message.id });
  arrived(id);
}
