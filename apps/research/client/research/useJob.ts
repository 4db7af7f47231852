import { type Resource, type StreamState, useEventStream, useResource } from '@trunkline/ui';
import { useCallback, useEffect, useReducer, useState } from 'react';
import type { Evidence, JobPhase, JobSnapshot } from '../../api-types.ts';
import { progressText } from '../../interfaces/progress-words.ts';

const REFRESH_MS = 2_000;

export interface FoundSource {
  title: string;
  url: string;
  snippet: string;
}

export interface DimensionView {
  name: string;
  state: 'planned' | 'started' | 'done';
  sources: FoundSource[];
  summary: string;
  keyFinding: string;
  /** Of those found, the ones that were read. */
  sourceCount: number;
}

interface Activity {
  id: number;
  at: string;
  words: string;
  kind: 'step' | 'source' | 'failed';
}

/** A job as its events tell it. */
export interface JobView {
  phase: JobPhase;
  /** The plan that waits for the user's word. */
  proposed: string[] | undefined;
  dimensions: DimensionView[];
  report: string;
  /** Why research ended and writing began. */
  stopReason: string | undefined;
  activity: Activity[];
  /** What is done now, in words. */
  now: string;
  isOver: boolean;
}

export interface JobEvent {
  id: number;
  type: string;
  data?: Record<string, unknown>;
  timestamp: string;
}

export const EMPTY_VIEW: JobView = {
  phase: 'scope',
  proposed: undefined,
  dimensions: [],
  report: '',
  stopReason: undefined,
  activity: [],
  now: 'Planning the research',
  isOver: false,
};

type Step = (view: JobView, data: Record<string, unknown>) => Partial<JobView>;

const STEPS: Record<string, Step> = {
  scope_started: () => ({ phase: 'scope', isOver: false }),
  scope_proposed: (_, { dimensions }) => ({ proposed: names(dimensions) }),
  scope_complete: (_, { dimensions }) => ({
    phase: 'research',
    proposed: undefined,
    dimensions: names(dimensions).map(planned),
  }),
  dimension_started: (view, data) => ({
    phase: 'research',
    dimensions: withDimension(view, data, (dimension) => ({ ...dimension, state: 'started', sources: [] })),
  }),
  dimension_source: (view, data) => ({
    dimensions: withDimension(view, data, (dimension) => ({
      ...dimension,
      sources: [...dimension.sources, sourceOf(data)],
    })),
  }),
  dimension_complete: (view, data) => ({
    dimensions: withDimension(view, data, (dimension) => ({
      ...dimension,
      state: 'done',
      summary: String(data.summary),
      keyFinding: String(data.keyFinding),
      sourceCount: Number(data.sourceCount),
    })),
  }),
  evaluate_started: () => ({ phase: 'evaluate' }),
  evaluate_complete: (view, { gaps, stopReason }) =>
    stopReason === undefined
      ? { phase: 'research', dimensions: [...view.dimensions, ...names(gaps).map(planned)] }
      : { stopReason: String(stopReason) },
  synthesis_started: () => ({ phase: 'synthesis' }),
  synthesis_delta: (view, { text }) => ({ report: view.report + String(text) }),
  resumed: () => ({ isOver: false }),
  done: () => ({ isOver: true }),
};

/** The job after one more event. An event that came before changes nothing. */
export function applyEvent(view: JobView, event: JobEvent): JobView {
  if (event.id <= (view.activity.at(-1)?.id ?? 0)) return view;
  const change = STEPS[event.type]?.(view, event.data ?? {}) ?? {};
  const words = activityWords(event);
  const entry: Activity = {
    id: event.id,
    at: event.timestamp,
    words: words ?? '',
    kind: kindOf(event.type),
  };
  const now = entry.kind === 'step' && words !== undefined ? words : view.now;
  return { ...view, ...change, now, activity: [...view.activity, entry] };
}

function activityWords(event: JobEvent): string | undefined {
  const { type, data = {} } = event;
  if (type === 'scope_proposed') return 'Waiting for your word on the plan';
  if (type === 'error') return String(data.message);
  if (type === 'synthesis_complete') return 'The report is complete';
  return progressText(event);
}

function kindOf(type: string): Activity['kind'] {
  if (type === 'error') return 'failed';
  return type === 'dimension_source' ? 'source' : 'step';
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function planned(name: string): DimensionView {
  return { name, state: 'planned', sources: [], summary: '', keyFinding: '', sourceCount: 0 };
}

function sourceOf({ title, url, snippet }: Record<string, unknown>): FoundSource {
  return { title: String(title), url: String(url), snippet: String(snippet) };
}

function withDimension(
  { dimensions }: JobView,
  { index, dimension: name }: Record<string, unknown>,
  change: (dimension: DimensionView) => DimensionView,
): DimensionView[] {
  const position = typeof index === 'number' ? index : dimensions.findIndex((each) => each.name === name);
  const all = [...dimensions];
  all[position] = change(all[position] ?? planned(String(name)));
  return all;
}

export interface JobHandle {
  id: string;
  view: JobView;
  snapshot: Resource<JobSnapshot>;
  evidence: Resource<Evidence>;
  stream: StreamState;
  reconnect(): void;
  /** Follows on after the job was changed from here. */
  follow(): void;
}

/** One job: its events from the first on, and its state. A reload or a lost line loses nothing. */
export function useJob(id: string): JobHandle {
  const path = `/api/research/deep/${encodeURIComponent(id)}`;
  const [view, apply] = useReducer(applyEvent, EMPTY_VIEW);
  const [isFollowing, setFollowing] = useState(true);
  const { state: stream, reconnect } = useEventStream(isFollowing ? path : null, (event) =>
    apply({ ...(JSON.parse(event.data) as Omit<JobEvent, 'id'>), id: Number(event.id) }),
  );
  const refresh = view.isOver ? {} : { refreshMs: REFRESH_MS };
  const snapshot = useResource<JobSnapshot>(`${path}/status`, refresh);
  const evidence = useResource<Evidence>(`${path}/evidence`, refresh);
  const [reloadSnapshot, reloadEvidence] = [snapshot.reload, evidence.reload];
  const reload = useCallback(() => {
    reloadSnapshot();
    reloadEvidence();
  }, [reloadSnapshot, reloadEvidence]);
  // The end of a job brings its report; a plan that waits is seen at once.
  useEffect(() => {
    if (view.isOver || view.proposed !== undefined) reload();
  }, [view.isOver, view.proposed, reload]);
  // The service ends the stream behind the last event; an end that was followed by more is not the last.
  const isEnded = view.isOver && stream.name === 'waiting' && snapshot.body?.status !== 'running';
  useEffect(() => {
    if (isEnded) setFollowing(false);
  }, [isEnded]);
  const follow = useCallback(() => {
    setFollowing(true);
    reload();
  }, [reload]);
  // The report of a finished job comes before its events, which may take long and must not move it.
  const isOver = view.isOver || snapshot.body?.status === 'complete';
  return { id, view: { ...view, isOver }, snapshot, evidence, stream, reconnect, follow };
}
