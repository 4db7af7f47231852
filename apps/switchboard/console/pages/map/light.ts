import type { BusMessage } from '../../../api-types.ts';
// What lights up in the map when a message passes.
import { type ExchangeMap, type MapEdge, nodeId, surfaceOf, topicsOf } from './model.ts';

/** Which topic a correlation came in on, so that the line to its agent can be lit. */
export type Origins = Map<string, string>;

const MOST_ORIGINS = 500;

export interface Lit {
  nodes: readonly string[];
  edges: readonly MapEdge[];
}

const DARK: Lit = { nodes: [], edges: [] };

/** The nodes and edges that a message lights. */
export function litBy(message: BusMessage, map: ExchangeMap, origins: Origins): Lit {
  const { topic, correlationId } = message;
  if (topic.startsWith('flow.item.')) return litByFlow(message, origins);
  const surface = surfaceOf(topic);
  const from = surface === undefined ? undefined : nodeId('surfaces', surface);
  if (topic.startsWith('message.outbound.')) return isOn(from, map) ? { nodes: [from], edges: [] } : DARK;
  const topics = topicsOf(map, topic).map(({ id }) => id);
  const [first] = topics;
  // A request that the router made came in on another topic, which stays the origin.
  if (first && !origins.has(correlationId)) note(origins, correlationId, first);
  if (topic === 'agent.skill.request' && origins.get(correlationId) !== first) return DARK;
  if (from === undefined) return { nodes: topics, edges: [] };
  return { nodes: [from, ...topics], edges: topics.map((to) => ({ from, to })) };
}

// Nothing goes out by a surface that is off.
function isOn(surface: string | undefined, { nodes }: ExchangeMap): surface is string {
  return nodes.some(({ id, state }) => id === surface && state !== 'idle');
}

function litByFlow({ payload, correlationId }: BusMessage, origins: Origins): Lit {
  const { targetAgent } = payload as { targetAgent?: string | null };
  if (!targetAgent) return DARK;
  const agent = nodeId('agents', targetAgent);
  const from = origins.get(correlationId);
  if (from === undefined) return { nodes: [agent], edges: [] };
  return { nodes: [from, agent], edges: [{ from, to: agent }] };
}

/** The tools that an agent called; those of MCP servers bear the name of their server. */
export function litByCalls(names: readonly string[], agent: string, map: ExchangeMap): Lit {
  const isCalled = (tool: string) =>
    names.some((called) => called.startsWith(tool) && /^($|[._])/.test(called.slice(tool.length)));
  const tools = map.nodes.filter(({ column, name }) => column === 'tools' && isCalled(name));
  return {
    nodes: tools.map(({ id }) => id),
    edges: tools.map(({ id }) => ({ from: nodeId('agents', agent), to: id })),
  };
}

function note(origins: Origins, correlationId: string, topic: string): void {
  origins.set(correlationId, topic);
  const [oldest] = origins.keys();
  if (origins.size > MOST_ORIGINS && oldest !== undefined) origins.delete(oldest);
}
