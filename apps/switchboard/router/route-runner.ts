import { type Bus, type Message, matchesTopic, type Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { BoundedMap } from '@trunkline/std';
import { clusterTopics } from '../access/caller.ts';
import { derivedId } from '../core/messages.ts';
import type { Route } from '../workspace/schema/agent.ts';
import { decisionOf, routesFor } from './decide.ts';
import { isRouted, requestOf } from './router.ts';

const mostHops = 12;

const windowMs = 30_000;

const mostCorrelations = 10_000;

export interface RouteRunnerSettings {
  bus: Bus;
  routes: () => readonly Route[];
  logger: Logger;
}

/** Runs routes whose topics the router does not read; resubscribes when the files change. */
export function createRouteRunner({ bus, routes, logger }: RouteRunnerSettings) {
  /** When each correlation was handed on lately, so that routes that feed each other come to an end. */
  const hops = new BoundedMap<string, number[]>(mostCorrelations);
  const subscriptions = new Map<string, Subscription>();
  let turn: Promise<void> = Promise.resolve();

  function refresh(): Promise<void> {
    turn = turn
      .then(() => subscribe())
      .catch((error: unknown) => logger.error({ err: error }, 'failed to subscribe routes'));
    return turn;
  }

  /** The subscriptions end with the bus. */
  async function close(): Promise<void> {
    await turn;
  }

  async function subscribe(): Promise<void> {
    const wanted = new Set(routes().flatMap(({ enabled, when }) => (enabled ? [when.topic] : [])));
    for (const [pattern, subscription] of subscriptions) {
      if (wanted.delete(pattern)) continue;
      subscriptions.delete(pattern);
      await subscription.unsubscribe();
    }
    for (const pattern of wanted) {
      const onMessage = (message: Message) => handle(pattern, message);
      subscriptions.set(
        pattern,
        await bus.subscribe(pattern, onMessage, { group: 'routes', plugin: 'routes' }),
      );
    }
  }

  async function handle(pattern: string, message: Message): Promise<void> {
    if (isRouted(message.topic) || message.topic === 'agent.skill.request') return;
    // Also a wide pattern: a greeting every other second would start an agent each time.
    if (matchesTopic(clusterTopics, message.topic)) return;
    const running = routesFor(message, routes(), { isSent: false });
    // The message comes once for each pattern that takes it; the first route's pattern runs them all, in order.
    if (running[0]?.when.topic !== pattern) return;
    if (!takeHop(message.correlationId)) {
      throw new Error(
        `The route ${running[0].name} goes round in circles: more than 12 hops in 30 s; change its topics.`,
      );
    }
    for (const route of running) {
      const request = requestOf(message, decisionOf(route));
      const { topic } = route.then;
      const reply = message.reply ?? (topic === undefined ? undefined : { topic });
      await bus.publish({ ...request, id: derivedId(message.id, route.name), reply });
    }
  }

  /** Whether one more hop is allowed; counts it if so. */
  function takeHop(correlationId: string): boolean {
    const now = Date.now();
    const recent = (hops.get(correlationId) ?? []).filter((at) => at > now - windowMs);
    const isAllowed = recent.length < mostHops;
    hops.set(correlationId, isAllowed ? [...recent, now] : recent);
    return isAllowed;
  }

  return { refresh, close };
}
