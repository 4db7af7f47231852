import type { AgentView, McpServerView, PluginStatus, Route } from '../../../api-types.ts';
// A graph of surfaces, their topics, the agents that handle them, and their tools.
import { fitsPattern, TOOL_LABELS } from '../../shared/topics.ts';

export type Column = 'surfaces' | 'topics' | 'agents' | 'tools';

export interface MapNode {
  /** Column and name, which is unique. */
  id: string;
  column: Column;
  name: string;
  /** As menus and pages call it. */
  label: string;
  state: 'live' | 'idle' | 'failed' | 'waiting';
  href: readonly string[];
  /** Topics only. */
  pattern?: string;
}

export interface MapEdge {
  from: string;
  to: string;
}

export interface ExchangeMap {
  nodes: MapNode[];
  edges: MapEdge[];
}

export interface WorkspaceView {
  agents: { name: string; tools: string[]; canDelegate: string[] }[];
  channels: { platform: string; agent?: string }[];
  routes: Route[];
}

export interface MapSources {
  plugins: readonly PluginStatus[];
  agents: readonly AgentView[];
  servers: readonly McpServerView[];
  workspace: WorkspaceView;
}

const LAMPS = { running: 'live', waiting: 'waiting', off: 'idle', failed: 'failed' } as const;

export function buildMap(sources: MapSources): ExchangeMap {
  const surfaces = surfaceNodes(sources);
  const topics = topicNodes(sources, surfaces);
  const agents = sources.agents.filter(({ type }) => type !== 'mcp').map(agentNode);
  const tools = toolNodes(sources);
  const nodes = [...surfaces, ...topics, ...agents, ...tools];
  const known = new Set(nodes.map(({ id }) => id));
  const edges = [
    ...comingIn(topics),
    ...takenBy(sources, topics),
    ...delegating(sources),
    ...using(sources),
  ].filter(({ from, to }) => known.has(from) && known.has(to));
  return { nodes, edges: unique(edges) };
}

export function nodeId(column: Column, name: string): string {
  return `${column}:${name}`;
}

function surfaceNodes({ plugins }: MapSources): MapNode[] {
  const plugged = plugins
    .filter(({ kind }) => kind === 'surface')
    .map(({ name, title = name, state }) => surface(name, title, LAMPS[state], ['plugins']));
  const scheduler = plugins.find(({ name }) => name === 'scheduler');
  return [
    surface('cli', 'Command line', 'live', ['feed', 'message.inbound.cli']),
    surface('api', 'API', 'live', ['feed', 'agent.skill.request']),
    surface('schedules', 'Schedules', scheduler ? LAMPS[scheduler.state] : 'idle', ['schedules']),
    // Surfaces that are off come last.
    ...plugged.sort((one, other) => Number(one.state === 'idle') - Number(other.state === 'idle')),
  ];
}

function surface(name: string, label: string, state: MapNode['state'], href: readonly string[]): MapNode {
  return { id: nodeId('surfaces', name), column: 'surfaces', name, label, state, href };
}

function topicNodes({ workspace }: MapSources, surfaces: readonly MapNode[]): MapNode[] {
  // In the order of the surfaces, so that few lines cross.
  const inbound = surfaces.filter(({ state }) => state !== 'idle').map(({ name }) => topicOf(name));
  const routed = workspace.routes.filter(({ enabled }) => enabled).map(({ when }) => when.topic);
  const patterns = [...new Set([...inbound, ...routed])];
  return patterns.map((pattern) => ({
    id: nodeId('topics', pattern),
    column: 'topics' as const,
    name: pattern,
    label: pattern.replace(/\.#$/, ''),
    state: 'live' as const,
    href: ['feed', pattern],
    pattern,
  }));
}

function topicOf(surface: string): string {
  if (surface === 'schedules') return 'cron.#';
  return surface === 'api' ? 'agent.skill.request' : `message.inbound.${surface}.#`;
}

function agentNode({ name, type, skills, load, sighting }: AgentView): MapNode {
  const isAway = sighting && !sighting.reachable;
  const lacksSkill = type === 'in-process' && skills.length === 0;
  return {
    id: nodeId('agents', name),
    column: 'agents',
    name,
    label: name,
    state: isAway ? 'idle' : load.circuit === 'open' ? 'failed' : lacksSkill ? 'waiting' : 'live',
    href: ['agents', name],
  };
}

function toolNodes({ workspace, servers, agents }: MapSources): MapNode[] {
  const own = [...new Set(workspace.agents.flatMap(({ tools }) => tools))];
  const ready = new Set(agents.filter(({ type }) => type === 'mcp').map(({ name }) => name));
  return [
    ...servers.map(({ name, enabled, error }) =>
      tool(name, name, enabled ? (error ? 'failed' : ready.has(name) ? 'live' : 'waiting') : 'idle', [
        'servers',
      ]),
    ),
    ...own.map((name) => tool(name, labels[name] ?? name, 'live', ['agents'])),
  ];
}

const labels: Readonly<Record<string, string>> = TOOL_LABELS;

function tool(name: string, label: string, state: MapNode['state'], href: readonly string[]): MapNode {
  return { id: nodeId('tools', name), column: 'tools', name, label, state, href };
}

function comingIn(topics: readonly MapNode[]): MapEdge[] {
  return topics.flatMap(({ id, pattern = '' }) => {
    const origin = surfaceOf(pattern);
    return origin === undefined ? [] : [{ from: nodeId('surfaces', origin), to: id }];
  });
}

export function surfaceOf(topic: string): string | undefined {
  if (topic.startsWith('cron.')) return 'schedules';
  if (topic === 'agent.skill.request') return 'api';
  return /^message\.(?:inbound|outbound)\.([^.#*]+)/.exec(topic)?.[1];
}

/** As the router decides: routes, channels, keywords, and who takes the rest. A request names an agent or a skill itself. */
function takenBy({ workspace, agents }: MapSources, topics: readonly MapNode[]): MapEdge[] {
  const { routes, channels } = workspace;
  const able = agents.filter(({ type, skills }) => type !== 'mcp' && skills.length > 0);
  const open = able.filter(
    (agent) => agent.default || agent.skills.some(({ keywords }) => keywords.length > 0),
  );
  return topics.flatMap(({ id, pattern = '' }) => {
    const routed = routes
      .filter(({ when, enabled }) => enabled && when.topic === pattern)
      .flatMap(({ then }) => (then.agent ? [then.agent] : whoCan(then.skill, agents)));
    const bound = channels
      .filter(({ platform }) => pattern === `message.inbound.${platform}.#`)
      .flatMap(({ agent }) => agent ?? []);
    const others = pattern === 'agent.skill.request' ? able : ROUTED.test(pattern) ? open : [];
    const names = [...routed, ...bound, ...others.map(({ name }) => name)];
    return names.map((name) => ({ from: id, to: nodeId('agents', name) }));
  });
}

/** Topics whose messages the router reads. */
const ROUTED = /^(message\.inbound|cron)\./;

function delegating({ workspace }: MapSources): MapEdge[] {
  return workspace.agents.flatMap(({ name, canDelegate }) =>
    canDelegate.map((other) => ({ from: nodeId('agents', name), to: nodeId('agents', other) })),
  );
}

function whoCan(skill: string, agents: readonly AgentView[]): string[] {
  return agents
    .filter(({ type, skills }) => type !== 'mcp' && skills.some(({ name }) => name === skill))
    .map(({ name }) => name)
    .slice(0, 1);
}

function using({ workspace, servers, agents }: MapSources): MapEdge[] {
  const own = workspace.agents.flatMap(({ name, tools }) =>
    tools.map((used) => ({ from: nodeId('agents', name), to: nodeId('tools', used) })),
  );
  const inProcess = agents.filter(({ type }) => type === 'in-process');
  const granted = servers.flatMap(({ name, grants, trust }) =>
    inProcess
      .filter((agent) => (grants === undefined ? trust === 'builtin' : isGranted(grants, agent.name)))
      .map((agent) => ({ from: nodeId('agents', agent.name), to: nodeId('tools', name) })),
  );
  return [...own, ...granted];
}

function isGranted(grants: readonly string[], agent: string): boolean {
  return grants.includes('*') || grants.includes(agent);
}

export function edgeId({ from, to }: MapEdge): string {
  return `${from} ${to}`;
}

export function unique(edges: readonly MapEdge[]): MapEdge[] {
  return [...new Map(edges.map((edge) => [edgeId(edge), edge])).values()];
}

/** The map's topics that match. */
export function topicsOf(map: ExchangeMap, topic: string): MapNode[] {
  return map.nodes.filter(({ pattern }) => pattern !== undefined && fitsPattern(pattern, topic));
}
