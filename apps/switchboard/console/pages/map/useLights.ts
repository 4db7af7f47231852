import { useApi } from '@trunkline/ui';
import { useEffect, useRef, useState } from 'react';
import type { Answer, BusMessage, FlowDetails } from '../../../api-types.ts';
import { useBus } from '../../shared/live.ts';
import { type Lit, litBy, litByCalls, type Origins } from './light.ts';
import { type ExchangeMap, edgeId, type MapEdge } from './model.ts';

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

// A flow is told of three times: its end counts.
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
