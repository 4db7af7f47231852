import { useApi } from '@trunkline/ui';
import { useEffect, useRef, useState } from 'react';
import type { Answer, BusMessage, FlowDetails } from '../../../api-types.ts';
import { useBus } from '../../shared/live.ts';
import { type ExchangeMap, edgeId, type MapEdge, nodeId, surfaceOf, topicsOf } from './model.ts';

const MOST_ORIGINS = 500;

const DARK: Lit = { nodes: [], edges: [] };

export interface Lights {
  /** The ids of nodes and edges that glow. */
  lit: ReadonlySet<string>;
  /** Lines that messages took, beside those that are wired: a keyword or a conversation led there. */
  taken: readonly MapEdge[];
  /** How many messages each node has seen since the page was opened. */
  counts: ReadonlyMap<string, number>;
}

const GLOW_MS = 2500;

/** Lights nodes and lines as messages pass, and lets them go out again. */
export function useLights(map: ExchangeMap | undefined): Lights {
  const [lit, setLit] = useState<ReadonlySet<string>>(new Set());
  const [counts, setCounts] = useState<ReadonlyMap<string, number>>(new Map());
  const [taken, setTaken] = useState<readonly MapEdge[]>([]);
  const origins = useRef<Origins>(new Map());
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  const callsOf = useCalls();
  const light = ({ nodes, edges }: Lit) => {
    const ids = [...nodes, ...edges.map(edgeId)];
    if (ids.length === 0) return;
    setTaken((before) => together(before, edges));
    setLit((before) => new Set([...before, ...ids]));
    for (const id of ids) {
      clearTimeout(timers.current.get(id));
      timers.current.set(
        id,
        setTimeout(() => setLit((before) => new Set([...before].filter((other) => other !== id))), GLOW_MS),
      );
    }
  };
  useBus((message) => {
    if (map === undefined) return;
    const found = litBy(message, map, origins.current);
    light(found);
    if (isCounted(message)) setCounts((before) => counted(before, found.nodes));
    if (message.topic === 'flow.item.completed')
      void callsOf(message).then(({ agent, names }) => light(litByCalls(names, agent, map)));
  });
  useEffect(() => {
    const running = timers.current;
    return () => {
      for (const timer of running.values()) clearTimeout(timer);
    };
  }, []);
  return { lit, taken, counts };
}

function together(known: readonly MapEdge[], more: readonly MapEdge[]): readonly MapEdge[] {
  const ids = new Set(known.map(edgeId));
  const added = more.filter((edge) => !ids.has(edgeId(edge)));
  return added.length === 0 ? known : [...known, ...added];
}

// A flow is published three times: its end counts.
function isCounted({ topic }: BusMessage): boolean {
  return !topic.startsWith('flow.item.') || topic === 'flow.item.completed';
}

function counted(before: ReadonlyMap<string, number>, ids: readonly string[]): ReadonlyMap<string, number> {
  const after = new Map(before);
  for (const id of new Set(ids)) after.set(id, (after.get(id) ?? 0) + 1);
  return after;
}

// The tools of a flow stand in its trace; while one is asked for, others are left out, so that a flood asks for little.
function useCalls() {
  const api = useApi();
  const asking = useRef(false);
  return async ({ payload }: BusMessage): Promise<{ agent: string; names: string[] }> => {
    const { id, targetAgent } = payload as { id: string; targetAgent: string | null };
    if (asking.current || !targetAgent) return { agent: '', names: [] };
    asking.current = true;
    try {
      const { data } = await api.request<Answer<FlowDetails>>(`/api/flows/${encodeURIComponent(id)}`);
      const calls = data.trace.filter(({ event }) => event === 'tool-start');
      return { agent: targetAgent, names: calls.map(({ details }) => String(details?.name)) };
    } catch {
      // The lamps of tools stay dark; the pages that hold the flow tell of the failure.
      return { agent: '', names: [] };
    } finally {
      asking.current = false;
    }
  };
}

/** Which topic a correlation came in on, so that the line to its agent can be lit. */
type Origins = Map<string, string>;

interface Lit {
  nodes: readonly string[];
  edges: readonly MapEdge[];
}

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
