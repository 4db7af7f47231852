import type { Bus, Message, Subscription } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import { derivedId } from '../core/messages.ts';
import type { Route } from '../workspace/schema/agent.ts';
import { decisionOf, matchesRoute } from './decide.ts';
import { isRouted, requestOf } from './router.ts';

const mostHops = 12;

const windowMs = 30_000;

const mostCorrelations = 10_000;

export interface RouteRunnerSettings {
  bus: Bus;
  routes: () => readonly Route[];
  logger: Logger;
}

/** Runs the routes whose topics the router does not read; subscribes again when the files change. */
export class RouteRunner {
  readonly #settings: RouteRunnerSettings;
  readonly #hops = new HopLimit();
  readonly #subscriptions = new Map<string, Subscription>();
  #turn: Promise<void> = Promise.resolve();

  constructor(settings: RouteRunnerSettings) {
    this.#settings = settings;
  }

  /** Subscribes to the topics of the routes as they are now. */
  refresh(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#subscribe())
      .catch((error: unknown) => this.#settings.logger.error({ err: error }, 'failed to subscribe routes'));
    return this.#turn;
  }

  /** Waits for what is under way; the subscriptions end with the bus. */
  async close(): Promise<void> {
    await this.#turn;
  }

  async #subscribe(): Promise<void> {
    const { bus, routes } = this.#settings;
    const wanted = new Set(routes().flatMap(({ enabled, when }) => (enabled ? [when.topic] : [])));
    for (const [pattern, subscription] of this.#subscriptions) {
      if (wanted.delete(pattern)) continue;
      this.#subscriptions.delete(pattern);
      await subscription.unsubscribe();
    }
    for (const pattern of wanted) {
      const handle = (message: Message) => this.#handle(pattern, message);
      this.#subscriptions.set(
        pattern,
        await bus.subscribe(pattern, handle, { group: 'routes', plugin: 'routes' }),
      );
    }
  }

  async #handle(pattern: string, message: Message): Promise<void> {
    if (isRouted(message.topic) || message.topic === 'agent.skill.request') return;
    const { bus, routes } = this.#settings;
    const route = routes().find(
      (candidate) => candidate.when.topic === pattern && matchesRoute(candidate, message),
    );
    if (route === undefined) return;
    if (!this.#hops.take(message.correlationId)) {
      throw new Error(
        `The route ${route.name} goes round in circles: more than 12 hops in 30 s; change its topics.`,
      );
    }
    const request = requestOf(message, decisionOf(route));
    const reply = message.reply ?? (route.then.topic === undefined ? undefined : { topic: route.then.topic });
    await bus.publish({ ...request, id: derivedId(message.id, route.name), reply });
  }
}

/** Counts how often one correlation was handed on lately, so that routes that feed each other come to an end. */
class HopLimit {
  readonly #hops = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Whether one more hop is allowed; counts it if so. */
  take(correlationId: string): boolean {
    const recent = (this.#hops.get(correlationId) ?? []).filter((at) => at > this.#now() - windowMs);
    const isAllowed = recent.length < mostHops;
    if (isAllowed) recent.push(this.#now());
    this.#hops.delete(correlationId);
    this.#hops.set(correlationId, recent);
    const oldest = this.#hops.keys().next().value;
    if (this.#hops.size > mostCorrelations && oldest !== undefined) this.#hops.delete(oldest);
    return isAllowed;
  }
}
