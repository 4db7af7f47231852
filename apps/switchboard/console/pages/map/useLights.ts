import { useApi } from '@trunkline/ui';
import { useEffect, useRef, useState } from 'react';
import type { Answer, BusMessage, FlowDetails } from '../../../api-types.ts';
import { useBus } from '../../shared/live.ts';
import { type ExchangeMap, edgeId, type MapEdge, nodeId, surfaceOf, topicsOf } from './model.ts';

const MOST_ORIGINS = 500;

const DARK: Lit = { nodes: [], edges: [] };

export interface Lights {
  /** Ids of lit nodes and edges. */
  lit: ReadonlySet<string>;
  /** Edges that messages took beyond the configured ones, by keyword or conversation. */
  taken: readonly MapEdge[];
  /** Messages per node since the page was opened. */
  counts: ReadonlyMap<string, number>;
}

const GLOW_MS = 2500;

/** Lights nodes and edges for a moment as messages pass. */
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

// A flow is published three times; only its end counts.
function isCounted({ topic }: BusMessage): boolean {
  return !topic.startsWith('flow.item.') || topic === 'flow.item.completed';
}

function counted(before: ReadonlyMap<string, number>, ids: readonly string[]): ReadonlyMap<string, number> {
  const after = new Map(before);
  for (const id of new Set(ids)) after.set(id, (after.get(id) ?? 0) + 1);
  return after;
}

// Tool calls are in the flow's trace. One request at a time, so that a flood asks for little.
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
      // Tools stay dark; other pages report the failure.
      return { agent: '', names: [] };
    } finally {
      asking.current = false;
    }
  };
}

/** Origin topic by correlation, to light the edge to its agent. */
type Origins = Map<string, string>;

interface Lit {
  nodes: readonly string[];
  edges: readonly MapEdge[];
}

export function litBy(message: BusMessage, map: ExchangeMap, origins: Origins): Lit {
  const { topic, correlationId } = message;
  if (topic.startsWith('flow.item.')) return litByFlow(message, origins);
  const surface = surfaceOf(topic);
  const from = surface === undefined ? undefined : nodeId('surfaces', surface);
  if (topic.startsWith('message.outbound.')) return isOn(from, map) ? { nodes: [from], edges: [] } : DARK;
  const topics = topicsOf(map, topic).map(({ id }) => id);
  const [first] = topics;
  // A request of the router keeps the topic that it came from as origin.
  if (first && !origins.has(correlationId)) note(origins, correlationId, first);
  if (topic === 'agent.skill.request' && origins.get(correlationId) !== first) return DARK;
  if (from === undefined) return { nodes: topics, edges: [] };
  return { nodes: [from, ...topics], edges: topics.map((to) => ({ from, to })) };
}

// A surface that is off sends nothing.
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

/** Tools of MCP servers are prefixed with the server's name. */
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
