import { type Resource, type StreamState, useEventStream, useResource } from '@trunkline/ui';
import { useCallback, useEffect, useReducer, useState } from 'react';
import type { Evidence, JobSnapshot } from '../../api-types.ts';
import { applyEvent, EMPTY_VIEW, type JobEvent, type JobView } from './jobView.ts';

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

const REFRESH_MS = 2_000;

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
  return { id, view, snapshot, evidence, stream, reconnect, follow };
}
