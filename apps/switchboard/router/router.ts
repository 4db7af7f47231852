import { type Bus, type Draft, type Message, matchesTopic, type Subscription } from '@trunkline/bus';
import { derivedId, onBehalf } from '../core/messages.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { SurfaceQuestions } from '../human/surface-questions.ts';
import { surfaces } from '../surfaces/list.ts';
import type { Surface } from '../surfaces/surface.ts';
import { type Decision, decide, projectChannel, type RoutingDeps, talkOf } from './decide.ts';

/** Topics that the router reads, and those among them that other plugins handle. */
const routed = ['message.inbound.#', 'cron.#'];
const notRouted = ['message.inbound.onboard.#'];

export function isRouted(topic: string): boolean {
  const isIn = (patterns: string[]) => patterns.some((pattern) => matchesTopic(pattern, topic));
  return isIn(routed) && !isIn(notRouted);
}

/** Turns messages of surfaces and schedules into skill requests. */
export async function startRouter(
  bus: Bus,
  deps: RoutingDeps,
  questions: SurfaceQuestions,
): Promise<Subscription[]> {
  const handle = async (message: Message) => {
    if (!(await questions.take(message))) await route(message, bus, deps);
  };
  const subscribe = (pattern: string, index: number) =>
    bus.subscribe(pattern, handle, { durable: `router-${index}`, group: 'router', plugin: 'router' });
  return await Promise.all(routed.map(subscribe));
}

async function route(message: Message, bus: Bus, deps: RoutingDeps): Promise<void> {
  if (!isRouted(message.topic) || isForRemoteTarget(message)) return;
  const [first, ...others] = decide(message, deps);
  if (first.skill !== undefined) {
    const conversationId = remember(message, first, deps);
    const findings = { conversationId, project: aboutProject(message, deps) };
    await bus.publish(requestOf(message, first, findings));
    for (const { route = '', ...more } of others.filter(isRequest))
      await bus.publish({
        ...requestOf(message, more, findings),
        id: derivedId(message.id, `request ${route}`),
      });
  } else if (first.ignored === true) await ignore(message, bus, first.why);
  else await refuse(message, bus, first.why);
}

function isRequest(decision: Decision): decision is Decision & { skill: string } {
  return decision.skill !== undefined;
}

/** The project of a message, and its channel. */
function aboutProject({ payload }: Message, { projects, workspace }: RoutingDeps) {
  const found = projectChannel(payload, projects.list(), workspace.channels());
  if (found === undefined) return undefined;
  const { project, channel } = found;
  return { slug: project.slug, ...(channel && { platform: channel.platform, channelId: channel.channelId }) };
}

async function ignore(message: Message, bus: Bus, why: string): Promise<void> {
  const { correlationId, id: parentId, topic } = message;
  const principal = onBehalf(message, 'switchboard');
  const payload = { correlationId, topic, why };
  await bus.publish({ topic: 'message.ignored', payload, correlationId, parentId, principal });
}

/** The scheduler delivers to targets of `a2a.yaml` itself. */
function isForRemoteTarget({ topic, payload }: Message): boolean {
  return topic.startsWith('cron.') && fieldsOf(payload).channel === 'a2a';
}

interface Findings {
  conversationId?: string | undefined;
  project?: object | undefined;
}

/** The id is stable on redelivery. */
export function requestOf(
  message: Message,
  decision: Decision & { skill: string },
  { conversationId, project }: Findings = {},
): Draft {
  const { skill, agent, rule, why } = decision;
  const routing = { rule, why, topic: message.topic, messageId: message.id };
  const reply = message.reply ?? { topic: decision.replyTopic ?? defaultReplyTopic(message) };
  return {
    topic: 'agent.skill.request',
    id: derivedId(message.id, 'request'),
    correlationId: message.correlationId,
    parentId: message.id,
    payload: {
      ...fieldsOf(message.payload),
      skillHint: skill,
      ...(agent !== undefined && { agent }),
      ...(conversationId !== undefined && { conversationId }),
      ...(project !== undefined && { project }),
      routing,
    },
    reply,
    source: message.source,
    principal: message.principal,
  };
}

async function refuse(message: Message, bus: Bus, why: string): Promise<void> {
  const { correlationId, id: parentId } = message;
  const about = { correlationId, parentId, principal: onBehalf(message, 'switchboard') };
  await bus.publish({
    ...about,
    topic: 'dispatch.dropped.no_skill',
    payload: { correlationId, topic: message.topic, why },
  });
  const topic = message.reply?.topic ?? defaultReplyTopic(message);
  const payload = { content: `Error: ${why}`, error: why, correlationId, taskState: 'rejected' };
  await bus.publish({ ...about, id: derivedId(message.id, 'reply'), topic, payload });
}

/** The conversation of the partners, else the one that the message names. */
function remember(
  message: Message,
  { skill, agent }: Decision & { skill: string },
  { registry, conversations, workspace }: RoutingDeps,
): string | undefined {
  const named = text(fieldsOf(message.payload).conversationId);
  const found = registry.resolve(skill, agent);
  if (!('executor' in found)) return named;
  return conversations.remember(talkOf(message, workspace.channels()), found.executor.agent) ?? named;
}

/** The default reply topic: back the way the message came, or to the schedule's channel. */
function defaultReplyTopic({ topic, payload }: Pick<Message, 'topic' | 'payload'>): string {
  return topic.startsWith('cron.')
    ? channelTopic(payload)
    : topic.replace(/^message\.inbound\b/, 'message.outbound');
}

/** The topic of a schedule's channel: of the surface of that name, else of the one that serves `*`. */
export function channelTopic(payload: unknown): string {
  const { channel, sender } = fieldsOf(payload);
  const name = text(channel) ?? 'cli';
  const served = (wanted: string) => surfaces.find(({ schedules }: Surface) => schedules?.channel === wanted);
  const surface: Surface | undefined = name === 'cli' ? undefined : (served(name) ?? served('*'));
  return surface?.schedules?.topic(name, text(sender)) ?? 'message.outbound.cli';
}
