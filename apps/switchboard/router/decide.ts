import { matchesTopic, type Source, unescapeSegment } from '@trunkline/bus';
import { ownerKey, type Principal } from '@trunkline/identity';
import type { ConversationStore } from '../conversations/conversation-store.ts';
import { principalOf } from '../core/messages.ts';
import type { ExecutorRegistry } from '../dispatch/registry.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import type { Project, ProjectDirectory } from '../projects/registry.ts';
import type { Route } from '../workspace/schema/agent.ts';
import type { Channel, FleetFile } from '../workspace/schema/channels.ts';

const directMs = 15 * 60 * 1000;

/** The channel kind of messages that name none. */
const defaultKind = 'dev';

export interface Inbound {
  topic: string;
  payload: unknown;
  source?: Source;
  principal?: Principal;
}

type Rule = 'route' | 'skill-hint' | 'agent' | 'channel' | 'conversation' | 'project' | 'keyword' | 'default';

/** Without a skill it goes nowhere. */
export type Decision =
  | { skill: string; agent?: string; rule: Rule; route?: string; why: string; replyTopic?: string }
  /** Not meant for an agent. */
  | { skill?: undefined; ignored: true; why: string }
  | { skill?: undefined; ignored?: undefined; why: string };

export interface RoutingDeps {
  registry: ExecutorRegistry;
  workspace: { routes(): readonly Route[]; channels(): readonly Channel[]; fleet(): FleetFile };
  projects: ProjectDirectory;
  conversations: Conversations;
  defaultSkill: string | undefined;
}

/** A skill that the message names wins, then routes, of which several may run; else one of the rules. In this order. */
export function decide(inbound: Inbound, deps: RoutingDeps): readonly [Decision, ...Decision[]] {
  const hinted = byHint(inbound);
  if (hinted !== undefined) return [hinted];
  const routes = routesFor(inbound, deps.workspace.routes(), { isSent: true });
  const [first, ...others] = routes.map(decisionOf);
  return first === undefined ? [byRules(inbound, deps)] : [first, ...others];
}

/** The first matching rule wins: agent, channel, conversation, project, keyword, default. */
function byRules(inbound: Inbound, deps: RoutingDeps): Decision {
  return (
    byAgent(inbound, deps) ??
    unmentioned(inbound, deps) ??
    byChannel(inbound, deps) ??
    byConversation(inbound, deps) ??
    byProject(inbound, deps) ??
    byKeyword(contentOf(inbound), deps.registry) ??
    defaultDecision(deps)
  );
}

export function talkOf(inbound: Inbound, channels: readonly Channel[]): Talk {
  const { topic, payload, source } = inbound;
  const [, , surface = '', segment] = topic.split('.');
  const channelId = source?.channelId ?? (segment === undefined ? undefined : unescapeSegment(segment));
  const channel = channels.find((entry) => entry.platform === surface && entry.channelId === channelId);
  const { direct, proven } = fieldsOf(payload);
  return {
    surface,
    channelId,
    // Whoever could have written another's name has no conversation, and so continues nobody's.
    userId: proven === false ? undefined : source?.userId,
    owner: ownerKey(principalOf(inbound)),
    direct: direct === true,
    channel,
  };
}

export function decisionOf({ name, then: target }: Route): Decision & { skill: string } {
  return {
    skill: target.skill,
    ...(target.agent !== undefined && { agent: target.agent }),
    ...(target.topic !== undefined && { replyTopic: target.topic }),
    rule: 'route',
    route: name,
    why: `the route ${name} takes this topic`,
  };
}

function byHint({ payload }: Inbound): Decision | undefined {
  const fields = fieldsOf(payload);
  const skill = text(fields.skillHint);
  if (skill === undefined) return undefined;
  const agent = text(fields.agent);
  return { skill, ...(agent && { agent }), rule: 'skill-hint', why: `the message names the skill ${skill}` };
}

/** Addressed to one agent, as through its own bot. */
function byAgent(inbound: Inbound, { registry }: RoutingDeps): Decision | undefined {
  const agent = text(fieldsOf(inbound.payload).agent);
  return agent === undefined
    ? undefined
    : toAgent(agent, inbound, registry, 'agent', `the message is for ${agent}`);
}

/** With `requireMentionAfterFirst`, a conversation continues only by mention. */
function unmentioned(inbound: Inbound, { workspace, conversations }: RoutingDeps): Decision | undefined {
  const talk = talkOf(inbound, workspace.channels());
  if (talk.channel?.conversation?.requireMentionAfterFirst !== true || talk.direct) return undefined;
  if (fieldsOf(inbound.payload).mentioned === true || conversations.agentOf(talk) === undefined)
    return undefined;
  return { ignored: true, why: `the channel ${talk.channel.id} wants a mention after the first message` };
}

/** The agent of the project's channel. */
function byProject({ payload, ...inbound }: Inbound, deps: RoutingDeps): Decision | undefined {
  const { workspace, projects, registry } = deps;
  const found = projectChannel(payload, projects.list(), workspace.channels());
  if (found?.channel?.agent === undefined) return undefined;
  const { project, channel } = found;
  const why = `the channel ${channel.id} of the project ${project.slug} belongs to ${channel.agent}`;
  return toAgent(found.channel.agent, { payload, ...inbound }, registry, 'project', why);
}

function byChannel(inbound: Inbound, { workspace, registry }: RoutingDeps): Decision | undefined {
  const { channel } = talkOf(inbound, workspace.channels());
  if (channel?.agent === undefined) return undefined;
  return toAgent(
    channel.agent,
    inbound,
    registry,
    'channel',
    `the channel ${channel.id} belongs to ${channel.agent}`,
  );
}

function byConversation(
  inbound: Inbound,
  { workspace, conversations, registry }: RoutingDeps,
): Decision | undefined {
  const agent = conversations.agentOf(talkOf(inbound, workspace.channels()));
  if (agent === undefined) return undefined;
  return toAgent(agent, inbound, registry, 'conversation', `this conversation is with ${agent}`);
}

/** The longest keyword wins. */
function byKeyword(content: string, registry: ExecutorRegistry, only?: string): Decision | undefined {
  const said = content.toLowerCase();
  const [best] = registry
    .skills()
    .filter(({ agent }) => only === undefined || agent === only)
    .flatMap(({ agent, skill }) => skill.keywords.map((keyword) => ({ agent, skill: skill.name, keyword })))
    .filter(({ keyword }) => said.includes(keyword.toLowerCase()))
    .sort((left, right) => right.keyword.length - left.keyword.length);
  if (best === undefined) return undefined;
  return { skill: best.skill, agent: best.agent, rule: 'keyword', why: `the text holds "${best.keyword}"` };
}

/** Where a message goes that no rule takes. */
export function defaultDecision({ registry, workspace, defaultSkill }: RoutingDeps): Decision {
  if (defaultSkill !== undefined) {
    return { skill: defaultSkill, rule: 'default', why: 'ROUTER_DEFAULT_SKILL takes what nothing else does' };
  }
  const { helm } = workspace.fleet().roles;
  const skill = registry.agent(helm)?.skills[0]?.name;
  if (skill !== undefined) {
    return {
      skill,
      agent: helm,
      rule: 'default',
      why: `${helm} is at the helm and takes what nothing else does`,
    };
  }
  return {
    why: `no rule fits, and there is no agent ${helm} with a skill; add agents/${helm}.yaml, or set roles.helm in fleet.yaml`,
  };
}

/** Chooses the agent's skill by keyword, else its first. */
function toAgent(
  agent: string,
  inbound: Inbound,
  registry: ExecutorRegistry,
  rule: Rule,
  why: string,
): Decision {
  const chosen =
    byKeyword(contentOf(inbound), registry, agent)?.skill ?? registry.agent(agent)?.skills[0]?.name;
  return chosen === undefined
    ? { why: `${why}, but there is no such agent with a skill` }
    : { skill: chosen, agent, rule, why };
}

function contentOf({ payload }: Inbound): string {
  return text(fieldsOf(payload).content) ?? '';
}

function projectOf(
  { owner, repo }: { owner: string; repo: string },
  projects: readonly Project[],
): Project | undefined {
  const wanted = `${owner}/${repo}`.toLowerCase();
  return projects.find(({ github }) => github && `${github.owner}/${github.repo}`.toLowerCase() === wanted);
}

function channelOf(slug: string, kind: string, channels: readonly Channel[]): Channel | undefined {
  return channels.find((channel) => channel.project === slug && channel.kind === kind);
}

/** For messages with `repo: {owner, repo}` or `owner/repo`. */
export function projectChannel(
  payload: unknown,
  projects: readonly Project[],
  channels: readonly Channel[],
): { project: Project; channel: Channel | undefined } | undefined {
  const fields = fieldsOf(payload);
  const repository = repositoryOf(fields.repo);
  const project = repository && projectOf(repository, projects);
  if (project === undefined) return undefined;
  return { project, channel: channelOf(project.slug, text(fields.kind) ?? defaultKind, channels) };
}

function repositoryOf(value: unknown): { owner: string; repo: string } | undefined {
  const given = typeof value === 'string' ? value.split('/') : [fieldsOf(value).owner, fieldsOf(value).repo];
  const [owner, repo] = [text(given[0]), text(given[1])];
  return owner === undefined || repo === undefined ? undefined : { owner, repo };
}

interface Talk {
  surface: string;
  channelId: string | undefined;
  userId: string | undefined;
  /** Who it is; surfaces have names that several people can bear. */
  owner: string;
  direct: boolean;
  channel: Channel | undefined;
}

/** Direct messages stay with their agent for 15 minutes, a channel's conversations as long as the channel says. */
export class Conversations {
  readonly #store: Pick<ConversationStore, 'talk' | 'hold'>;

  constructor(store: Pick<ConversationStore, 'talk' | 'hold'>) {
    this.#store = store;
  }

  agentOf(talk: Talk): string | undefined {
    const key = keyOf(talk);
    return key === undefined ? undefined : this.#store.talk(key)?.agent;
  }

  remember(talk: Talk, agent: string): string | undefined {
    const key = keyOf(talk);
    if (key === undefined) return undefined;
    const lastsMs = talk.direct ? directMs : (talk.channel?.conversation?.timeoutMs ?? 0);
    return this.#store.hold(key, agent, lastsMs);
  }
}

/** Undefined for what is no conversation. */
function keyOf({ surface, channelId, userId, owner, direct, channel }: Talk): string | undefined {
  if (userId === undefined) return undefined;
  if (direct) return JSON.stringify([surface, userId, owner]);
  return channel?.conversation?.enabled ? JSON.stringify([surface, channelId, userId, owner]) : undefined;
}

/** In the order in which routes run: higher priority, then more specific pattern, then more conditions, then name. */
export function inOrder(routes: readonly Route[]): Route[] {
  return routes.toSorted(compareRoutes);
}

/**
 * The routes that a message runs, in order, up to one with `stop`. Where it is not set, the first route takes a message
 * that somebody sent, as the sender expects one answer, and all routes run for any other topic.
 */
export function routesFor(
  message: { topic: string; payload: unknown },
  routes: readonly Route[],
  { isSent }: { isSent: boolean },
): Route[] {
  const matching = inOrder(routes.filter((route) => matchesRoute(route, message)));
  const last = matching.findIndex(({ stop }) => stop ?? isSent);
  return last === -1 ? matching : matching.slice(0, last + 1);
}

function matchesRoute(
  { when, enabled }: Route,
  { topic, payload }: { topic: string; payload: unknown },
): boolean {
  if (!enabled || !matchesTopic(when.topic, topic)) return false;
  return Object.entries(when.match).every(([path, wanted]) => valueAt(payload, path) === wanted);
}

function compareRoutes(one: Route, other: Route): number {
  return (
    other.priority - one.priority ||
    comparePatterns(one.when.topic, other.when.topic) ||
    Object.keys(other.when.match).length - Object.keys(one.when.match).length ||
    compareText(one.name, other.name)
  );
}

/** The more specific pattern first: segment by segment, a name before `*` before the end before `#`. */
function comparePatterns(one: string, other: string): number {
  const [left, right] = [one.split('.'), other.split('.')];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = rank(right[index]) - rank(left[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(segment: string | undefined): number {
  if (segment === '#') return 0;
  if (segment === undefined) return 1;
  return segment === '*' ? 2 : 3;
}

/** By code unit: the same on every machine, whatever its language. */
function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function valueAt(payload: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, step) => fieldsOf(part)[step], payload);
}
