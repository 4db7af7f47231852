import type { Bus, Draft, Message } from '@trunkline/bus';
import { describeRoute, validate } from '@trunkline/http';
import { type Clock, systemClock } from '@trunkline/schedule';
import { BoundedMap } from '@trunkline/std';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Leader } from '../cluster/leader.ts';
import { derivedId, onBehalf } from '../core/messages.ts';
import type { Plugin, PluginContext } from '../core/plugins.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { throwBusFailure } from '../errors.ts';
import { messageFilter, type SwitchboardEnv } from '../routes/guards.ts';

const limitQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(100) });

const mostKeys = 1000;

const alertTopic = 'message.outbound.chat.alert';
const everyMs = 60_000;
const stormCount = 10;
const stormWindowMs = 10 * 60_000;
const longestText = 1500;

type Severity = 'critical' | 'high' | 'medium' | 'low';

interface Alert {
  key: string;
  severity: Severity;
  content: string;
}

/** Posts errors, drops and incidents to the alert channel, without flooding it. */
export class AlertingPlugin implements Plugin {
  readonly name = 'alerting';
  readonly description = 'Posts errors, dropped messages and incidents to the alert channel.';
  readonly after = ['leader'];
  readonly #leader: Leader;
  readonly #errors: Throttle;
  readonly #drops: AlertRateLimiter;

  constructor(leader: Leader, clock: Clock = systemClock) {
    this.#leader = leader;
    this.#errors = new Throttle(everyMs, clock.now);
    this.#drops = new AlertRateLimiter(stormCount, stormWindowMs, clock.now);
  }

  mount(app: Hono<SwitchboardEnv>, { bus }: PluginContext): void {
    mountAlerts(app, bus, alertTopic);
  }

  /** Every switchboard counts; only the leader posts. */
  async start({ bus }: PluginContext): Promise<void> {
    const options = { plugin: 'alerting' };
    await bus.subscribe('system.error', (message) => this.#error(message, bus), options);
    await bus.subscribe('dispatch.dropped.*', (message) => this.#dropped(message, bus), options);
    await bus.subscribe('security.incident.reported', (message) => this.#incident(message, bus), options);
  }

  async stop(): Promise<void> {
    // The subscriptions end with the bus.
  }

  async #error(message: Message, bus: Bus): Promise<void> {
    const { source, plugin, error, topic, stream } = fieldsOf(message.payload);
    // Otherwise an alert that cannot be posted would cause the next one.
    if (topic === alertTopic) return;
    // The bus itself publishes on behalf of nobody; a caller's words are held back as any other.
    if (typeof stream === 'string' && message.principal === undefined) {
      await this.#lost(stream, text(error) ?? '', message, bus);
      return;
    }
    const key = `${text(source) ?? 'unknown'}:${text(plugin) ?? ''}`;
    const heldBack = this.#errors.pass(key);
    if (heldBack === undefined) return;
    const more = heldBack === 0 ? '' : ` (and ${heldBack} more since the last alert)`;
    const content = `Error in ${text(plugin) ?? text(source) ?? 'the switchboard'}: ${text(error) ?? 'no reason was given'}${more}`;
    await this.#post({ key, severity: 'medium', content }, message, bus);
  }

  /**
   * The bus has lost messages or what it knew, which it says once: none is held back, and every switchboard posts it, as there
   * may be no leader then. The journal takes the id once.
   */
  async #lost(stream: string, content: string, cause: Message, bus: Bus): Promise<void> {
    const principal = onBehalf(cause, 'switchboard');
    const about = { correlationId: cause.correlationId, parentId: cause.id, principal };
    const id = (purpose: string) => derivedId(cause.id, purpose);
    const text = content.slice(0, longestText);
    const alert: Alert = { key: `lost:${stream}`, severity: 'critical', content: text };
    const source = { interface: 'alerting' };
    await bus.publish({ topic: alertTopic, payload: alert, source, id: id('alert'), ...about });
    const payload = { content: text, urgency: 'high' };
    await bus.publish({ topic: 'operator.message.request', payload, id: id('operator'), ...about });
  }

  /** Many drops for the same reason are one alert. */
  async #dropped(message: Message, bus: Bus): Promise<void> {
    const reason = message.topic.split('.').at(-1) ?? '';
    const { skill, agent, why } = fieldsOf(message.payload);
    const key = `${reason}:${text(skill) ?? ''}:${text(agent) ?? ''}`;
    if (!this.#drops.notice(key)) return;
    const content = `${stormCount} requests were dropped within 10 minutes (${reason}${text(skill) ? `, skill ${skill}` : ''}): ${text(why) ?? ''}`;
    await this.#post({ key, severity: 'high', content }, message, bus);
    await this.#tellOperator(content, message, bus);
  }

  async #incident(message: Message, bus: Bus): Promise<void> {
    const { id, title, severity } = fieldsOf(message.payload);
    const level = severityOf(severity);
    const content = `Incident ${text(id) ?? ''} (${level}): ${text(title) ?? ''}`;
    await this.#post({ key: `incident:${text(id) ?? message.id}`, severity: level, content }, message, bus);
    if (level === 'critical' || level === 'high') await this.#tellOperator(content, message, bus);
  }

  async #post({ key, severity, content }: Alert, cause: Message, bus: Bus): Promise<void> {
    const payload = { content: content.slice(0, longestText), severity, key };
    await this.#publish({ topic: alertTopic, payload, source: { interface: 'alerting' } }, cause, bus);
  }

  async #tellOperator(content: string, cause: Message, bus: Bus): Promise<void> {
    const payload = { content: content.slice(0, longestText), urgency: 'high' };
    await this.#publish({ topic: 'operator.message.request', payload }, cause, bus);
  }

  /** What went wrong for somebody is theirs and the operator's to see. */
  async #publish(draft: Draft, cause: Message, bus: Bus): Promise<void> {
    const { correlationId, id: parentId } = cause;
    const principal = onBehalf(cause, 'switchboard');
    if (this.#leader.isLeader()) await bus.publish({ ...draft, correlationId, parentId, principal });
  }
}

function severityOf(given: unknown): Severity {
  return given === 'critical' || given === 'high' || given === 'low' ? given : 'medium';
}

/** Detects storms: true once per storm, which ends when nothing comes for the whole window. */
class AlertRateLimiter {
  readonly #count: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #storms = new BoundedMap<string, { times: number[]; isTold: boolean }>(mostKeys);

  constructor(count: number, windowMs: number, now: () => number) {
    this.#count = count;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  notice(key: string): boolean {
    const now = this.#now();
    const known = this.#storms.get(key);
    const times = [...(known?.times ?? []).filter((time) => time > now - this.#windowMs), now].slice(
      -this.#count,
    );
    const isTold = (known?.isTold ?? false) && times.length > 1;
    const isStorm = !isTold && times.length >= this.#count;
    this.#storms.set(key, { times, isTold: isTold || isStorm });
    return isStorm;
  }
}

function mountAlerts(app: Hono<SwitchboardEnv>, bus: Bus, topic: string): void {
  const past = describeRoute({ summary: 'Alerts, the newest first' });
  app.get('/api/alerts', past, validate('query', limitQuery), async (context) => {
    const entries = await bus
      .history({ topic, limit: context.req.valid('query').limit })
      .catch(throwBusFailure);
    const seen = entries.map(({ message }) => message).filter(messageFilter(context));
    const alerts = withoutCopies(seen).map(({ id, timestamp, correlationId, payload }) => ({
      id,
      at: new Date(timestamp).toISOString(),
      correlationId,
      ...(payload as object),
    }));
    return context.json({ success: true, data: alerts.toReversed() });
  });
}

/** What the operator is told goes to the same topic by default: an alert that is there with its severity is shown once. */
function withoutCopies(messages: readonly Message[]): Message[] {
  const key = ({ correlationId, payload }: Message) => `${correlationId} ${text(fieldsOf(payload).content)}`;
  const isAlert = ({ payload }: Message) => fieldsOf(payload).severity !== undefined;
  const posted = new Set(messages.filter(isAlert).map(key));
  return messages.filter((message) => isAlert(message) || !posted.has(key(message)));
}

/** Lets one event per key and period pass, and counts those it held back. */
class Throttle {
  readonly #everyMs: number;
  readonly #now: () => number;
  readonly #last = new BoundedMap<string, { at: number; heldBack: number }>(mostKeys);

  constructor(everyMs: number, now: () => number) {
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** Returns how many it held back since the last one, or undefined when it holds this one back too. */
  pass(key: string): number | undefined {
    const last = this.#last.get(key);
    const now = this.#now();
    if (last !== undefined && now - last.at < this.#everyMs) {
      last.heldBack += 1;
      return undefined;
    }
    this.#last.set(key, { at: now, heldBack: 0 });
    return last?.heldBack ?? 0;
  }
}
