import { type ApiError, asApiError, type StreamEvent, useApi, useEventStream } from '@trunkline/ui';
import { useCallback, useEffect, useState } from 'react';
import { applyEvent, mergeTurns } from './turns.ts';
import { type Attachment, isOpen, isParked, type Turn } from './wire.ts';

interface TurnsPage {
  turns: Turn[];
  next: number | null;
}

export interface Conversation {
  turns: readonly Turn[];
  /** The first turns are on their way. */
  loading: boolean;
  error: ApiError | undefined;
  /** The turn that runs or waits for an answer. */
  open: Turn | undefined;
  hasOlder: boolean;
  loadOlder(): Promise<void>;
  /** Says something; while a question waits, it is the answer. Rejects with an ApiError. */
  send(text: string, attachments?: readonly Attachment[]): Promise<void>;
  stop(): Promise<void>;
}

/** One conversation: its turns, kept up to date while one of them is open, also after the page was loaded anew. */
export function useConversation(sessionId: string, onChange: () => void): Conversation {
  const api = useApi();
  const [state, setState] = useState<ConversationState>(NOTHING);
  const shown = state.sessionId === sessionId ? state : NOTHING;
  const path = `/api/chat/sessions/${encodeURIComponent(sessionId)}`;
  const open = shown.turns.findLast(isOpen);

  useEffect(() => {
    const leaving = new AbortController();
    void api
      .request<TurnsPage>(path, { signal: leaving.signal })
      .then(({ turns, next }) => ({ turns, next, error: undefined }))
      .catch((error: unknown) => ({ turns: [], next: null, error: asApiError(error) }))
      .then((found) => {
        if (leaving.signal.aborted) return;
        // Something may have been said before the answer came.
        setState((before) => ({
          ...found,
          sessionId,
          loading: false,
          turns: mergeTurns(found.turns, before.sessionId === sessionId ? before.turns : []),
        }));
      });
    return () => leaving.abort();
  }, [api, path, sessionId]);

  const change = useCallback(
    (update: (turns: readonly Turn[]) => Turn[]) =>
      setState((before) => ({
        ...(before.sessionId === sessionId ? before : NOTHING),
        sessionId,
        loading: false,
        turns: update(before.sessionId === sessionId ? before.turns : []),
      })),
    [sessionId],
  );
  useTurnStream(open?.task_id, change, onChange);

  return {
    ...shown,
    open,
    hasOlder: shown.next !== null,
    async loadOlder() {
      const { turns, next } = await api.request<TurnsPage>(`${path}?before=${shown.next}`);
      setState((before) => ({ ...before, turns: [...turns, ...before.turns], next }));
    },
    async send(text, attachments = []) {
      const answers = open !== undefined && isParked(open) ? { task_id: open.task_id } : {};
      const body = { text, attachments, ...answers };
      const { turn } = await api.request<{ turn: Turn }>(`${path}/messages`, { body });
      // A turn that is shown already hears of its answer by its stream, which may be ahead of this answer.
      change((turns) => mergeTurns([...turns, turn], turns));
      onChange();
    },
    async stop() {
      if (open !== undefined) await api.request(`/api/tasks/${open.task_id}/cancel`, { method: 'POST' });
    },
  };
}

interface ConversationState {
  sessionId: string | undefined;
  turns: readonly Turn[];
  next: number | null;
  loading: boolean;
  error: ApiError | undefined;
}

const NOTHING: ConversationState = {
  sessionId: undefined,
  turns: [],
  next: null,
  loading: true,
  error: undefined,
};

// The stream begins with the turn as it stands, so one that broke off may simply be opened again.
function useTurnStream(
  taskId: string | undefined,
  change: (update: (turns: readonly Turn[]) => Turn[]) => void,
  onChange: () => void,
): void {
  useEventStream(taskId === undefined ? null : `/api/chat/turns/${taskId}/events`, (event: StreamEvent) => {
    change((turns) => turns.map((turn) => (turn.task_id === taskId ? applyEvent(turn, event) : turn)));
    if (event.event === 'state') onChange();
  });
}
