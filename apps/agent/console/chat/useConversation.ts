import { type ApiError, asApiError, randomId, type StreamEvent, useApi, useEventStream } from '@trunkline/ui';
import { useCallback, useEffect, useState } from 'react';
import { useLive } from '../app/live.ts';
import { type Attachment, type ChatSummary, type Entry, isOpen, isParked, type Turn } from './wire.ts';

interface TurnsPage {
  chat: ChatSummary | null;
  turns: Turn[];
  next: number | null;
}

export interface Conversation {
  /** Undefined before anything was said. */
  title: string | undefined;
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
  /** Messages on their way, and those that did not reach the service. */
  unsent: readonly UnsentMessage[];
  /** Says something that stays in `unsent`, to be tried again, where it does not reach the service. */
  say(text: string, attachments?: readonly Attachment[]): Promise<void>;
  retry(message: UnsentMessage): Promise<void>;
  discard(message: UnsentMessage): void;
  stop(): Promise<void>;
}

/** The service says a message once, however often it comes under one id. */
interface UnsentMessage {
  id: string;
  sessionId: string;
  text: string;
  attachments: readonly Attachment[];
  /** Why it was not sent; undefined while it is on its way. */
  error: ApiError | undefined;
}

/**
 * One conversation: its turns, kept up to date while one of them is open, also after the page was loaded anew and when
 * others say something in it. `onChange` hears that something was said or done.
 */
export function useConversation(sessionId: string, onChange: () => void): Conversation {
  const api = useApi();
  const [state, setState] = useState<ConversationState>(NOTHING);
  const shown = state.sessionId === sessionId ? state : NOTHING;
  const path = `/api/chat/sessions/${encodeURIComponent(sessionId)}`;
  const open = shown.turns.findLast(isOpen);

  const [round, setRound] = useState(0);
  useLive(['tasks'], () => setRound((before) => before + 1));

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round loads again
  useEffect(() => {
    const leaving = new AbortController();
    void api
      .request<TurnsPage>(path, { signal: leaving.signal })
      .then(({ chat, turns, next }) => ({ title: chat?.title, turns, next, error: undefined }))
      .catch((error: unknown) => ({ title: undefined, turns: [], next: null, error: asApiError(error) }))
      .then((found) => {
        if (!leaving.signal.aborted)
          setState((before) =>
            withFound(before.sessionId === sessionId ? before : NOTHING, sessionId, found),
          );
      });
    return () => leaving.abort();
  }, [api, path, sessionId, round]);

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
  // The stream begins with the turn as it stands, so one that broke off may simply be opened again.
  const taskId = open?.task_id;
  useEventStream(taskId === undefined ? null : `/api/chat/turns/${taskId}/events`, (event) => {
    change((turns) => turns.map((turn) => (turn.task_id === taskId ? applyEvent(turn, event) : turn)));
    if (event.event === 'state') onChange();
  });

  const post = async (said: Pick<UnsentMessage, 'text' | 'attachments'> & { message_id?: string }) => {
    const answers = open !== undefined && isParked(open) ? { task_id: open.task_id } : {};
    const { turn } = await api.request<{ turn: Turn }>(`${path}/messages`, { body: { ...said, ...answers } });
    // A turn that is shown already hears of its answer by its stream, which may be ahead of this answer.
    change((turns) => mergeTurns([...turns, turn], turns));
    onChange();
  };
  const [unsent, setUnsent] = useState<readonly UnsentMessage[]>([]);
  const discard = ({ id }: UnsentMessage) => setUnsent((before) => before.filter((each) => each.id !== id));
  const put = (message: UnsentMessage) =>
    setUnsent((before) =>
      before.some(({ id }) => id === message.id)
        ? before.map((each) => (each.id === message.id ? message : each))
        : [...before, message],
    );
  const retry = async (message: UnsentMessage) => {
    const { id, text, attachments } = message;
    put({ ...message, error: undefined });
    try {
      await post({ text, attachments, message_id: id });
      discard(message);
    } catch (error) {
      put({ ...message, error: asApiError(error) });
    }
  };

  return {
    ...shown,
    unsent: unsent.filter((message) => message.sessionId === sessionId),
    say: (text, attachments = []) =>
      retry({ id: randomId(), sessionId, text, attachments, error: undefined }),
    retry,
    discard,
    open,
    hasOlder: shown.next !== null,
    async loadOlder() {
      const { turns, next } = await api.request<TurnsPage>(`${path}?before=${shown.next}`);
      setState((before) => ({ ...before, turns: [...turns, ...before.turns], next }));
    },
    send: (text, attachments = []) => post({ text, attachments }),
    async stop() {
      if (open !== undefined) await api.request(`/api/tasks/${open.task_id}/cancel`, { method: 'POST' });
    },
  };
}

interface ConversationState {
  sessionId: string | undefined;
  title: string | undefined;
  turns: readonly Turn[];
  next: number | null;
  loading: boolean;
  /** The service has sent its turns at least once. */
  loaded: boolean;
  error: ApiError | undefined;
}

const NOTHING: ConversationState = {
  sessionId: undefined,
  title: undefined,
  turns: [],
  next: null,
  loading: true,
  loaded: false,
  error: undefined,
};

type Found = Pick<ConversationState, 'title' | 'turns' | 'next' | 'error'>;

/** What is shown stays as it is: something may have been said before the answer came, and older turns were loaded. */
function withFound(shown: ConversationState, sessionId: string, found: Found): ConversationState {
  const isShown = shown.turns.length > 0;
  return {
    sessionId,
    loading: false,
    title: found.title ?? shown.title,
    turns: mergeTurns(found.turns, shown.turns),
    next: shown.loaded ? shown.next : found.next,
    loaded: true,
    error: isShown ? undefined : found.error,
  };
}

// Puts what a stream tells into the turns that are shown.

/** The turn with what happened in it; the same turn when the event says nothing new. */
export function applyEvent(turn: Turn, { event, data }: StreamEvent): Turn {
  const body: unknown = JSON.parse(data);
  switch (event) {
    case 'turn':
      return body as Turn;
    case 'entry':
      return withEntry(turn, body as { index: number; entry: Entry });
    case 'append':
      return withText(turn, body as { index: number; text: string });
    case 'state':
      return { ...turn, ...(body as Pick<Turn, 'state' | 'usage' | 'duration_ms'>) };
    default:
      return turn;
  }
}

/** Turns as they were loaded, with those that are shown already as they are shown; each once. */
export function mergeTurns(loaded: readonly Turn[], shown: readonly Turn[]): Turn[] {
  const byTask = new Map([...loaded, ...shown].map((turn) => [turn.task_id, turn]));
  return [...byTask.values()];
}

function withEntry(turn: Turn, { index, entry }: { index: number; entry: Entry }): Turn {
  const entries = [...turn.entries];
  entries[index] = entry;
  return { ...turn, entries };
}

function withText(turn: Turn, { index, text }: { index: number; text: string }): Turn {
  const entry = turn.entries[index];
  if (entry?.kind !== 'text' && entry?.kind !== 'reasoning') return turn;
  return withEntry(turn, { index, entry: { ...entry, text: entry.text + text } });
}
