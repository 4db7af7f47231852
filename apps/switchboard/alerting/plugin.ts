import type { Bus, Message } from '@trunkline/bus';
import { type Clock, systemClock } from '@trunkline/schedule';
import type { Hono } from 'hono';
import type { Leader } from '../cluster/leader.ts';
import type { Plugin, PluginContext } from '../core/plugin.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { mountAlerts } from '../routes/alerts.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { AlertRateLimiter } from './rate-limiter.ts';
import { Throttle } from './throttle.ts';

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

/** Posts what goes wrong to the alert channel, without flooding it. */
export class AlertingPlugin implements Plugin {
  readonly name = 'alerting';
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

  /** Every switchboard counts; the one that leads speaks. */
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
    const { source, plugin, error, topic } = fieldsOf(message.payload);
    // An alert that could not be posted would make the next one.
    if (topic === alertTopic) return;
    const key = `${text(source) ?? 'unknown'}:${text(plugin) ?? ''}`;
    const heldBack = this.#errors.pass(key);
    if (heldBack === undefined) return;
    const more = heldBack === 0 ? '' : ` (and ${heldBack} more since the last alert)`;
    const content = `Error in ${text(plugin) ?? text(source) ?? 'the switchboard'}: ${text(error) ?? 'no reason was given'}${more}`;
    await this.#post({ key, severity: 'medium', content }, message, bus);
  }

  /** Many drops for the same reason are one problem, and one that somebody has to look at. */
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

  async #post(
    { key, severity, content }: Alert,
    { correlationId, id: parentId }: Message,
    bus: Bus,
  ): Promise<void> {
    if (!this.#leader.isLeader()) return;
    const payload = { content: content.slice(0, longestText), severity, key };
    await bus.publish({
      topic: alertTopic,
      payload,
      correlationId,
      parentId,
      source: { interface: 'alerting' },
    });
  }

  async #tellOperator(content: string, { correlationId, id: parentId }: Message, bus: Bus): Promise<void> {
    if (!this.#leader.isLeader()) return;
    const payload = { content: content.slice(0, longestText), urgency: 'high' };
    await bus.publish({ topic: 'operator.message.request', payload, correlationId, parentId });
  }
}

function severityOf(given: unknown): Severity {
  return given === 'critical' || given === 'high' || given === 'low' ? given : 'medium';
}
