import { type ApiError, asApiError, browserTimezone, randomId, useApi, useEventStream } from '@trunkline/ui';
import { useCallback, useEffect, useState } from 'react';
import { applyEvent } from '../../chats/turn-events.ts';
import { useLive } from '../app/live.ts';
import { type Attached, type ChatSummary, isOpen, isParked, type Turn } from './wire.ts';

interface TurnsPage {
  chat: ChatSummary | null;
  branch: string;
  model: string | null;
  branches: Branches;
  turns: Turn[];
  next: number | null;
}

/** The branches that stand beside each other at a turn, by the id of the turn. */
type Branches = Readonly<Record<string, readonly string[]>>;

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
  send(text: string, attachments?: readonly Attached[]): Promise<void>;
  /** Messages on their way, and those that did not reach the service. */
  unsent: readonly UnsentMessage[];
  /** Says something that stays in `unsent`, to be tried again, where it does not reach the service. */
  say(text: string, attachments?: readonly Attached[]): Promise<void>;
  retry(message: UnsentMessage): Promise<void>;
  discard(message: UnsentMessage): void;
  stop(): Promise<void>;
  /** The model that was chosen for it; null for the configured one. */
  model: string | null;
  chooseModel(model: string | null): Promise<void>;
  branches: Branches;
  /** Says something else instead of a turn's message, or the same once more, in a new branch. */
  fork(turn: Turn, text?: string): Promise<void>;
  /** Shows the branch so many places further at a turn; nothing where there is none. */
  step(turn: Turn, by: number): Promise<void>;
}

/** The service says a message once, however often it comes under one id. */
export interface UnsentMessage {
  id: string;
  sessionId: string;
  /** The branch that was shown, and the turn that waited for an answer, when it was first said: it goes to no other. */
  branch: string | undefined;
  taskId: string | undefined;
  text: string;
  attachments: readonly Attached[];
  /** Why it was not sent; undefined while it is on its way. */
  error: ApiError | undefined;
}

/**
 * One conversation: its turns, kept up to date while one of them is open, also after the page was loaded anew and when
 * others say something in it. `onChange` hears that something was said or done, `onBranch` that another branch is
 * shown. `place` is a turn to be shown, in whichever branch it is.
 */
export function useConversation(
  sessionId: string,
  place: string | undefined,
  onChange: () => void,
  onBranch: () => void,
): Conversation {
  const api = useApi();
  const [state, setState] = useState<ConversationState>(NOTHING);
  const shown = state.sessionId === sessionId ? state : NOTHING;
  const path = sessionPath(sessionId);
  // The run of a schedule does not keep a person from talking.
  const open =
    shown.turns.findLast((turn) => isOpen(turn) && turn.schedule === undefined) ??
    shown.turns.findLast(isOpen);

  const [round, setRound] = useState(0);
  useLive(['tasks'], () => setRound((before) => before + 1));

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round loads again
  useEffect(() => {
    const leaving = new AbortController();
    void api
      .request<TurnsPage>(`${path}${place === undefined ? '' : `?task=${encodeURIComponent(place)}`}`, {
        signal: leaving.signal,
      })
      .then(({ chat, ...page }) => ({ title: chat?.title, ...page, error: undefined }))
      .catch((error: unknown) => ({ ...NOTHING, error: asApiError(error) }))
      .then((found) => {
        if (!leaving.signal.aborted)
          setState((before) =>
            withFound(before.sessionId === sessionId ? before : NOTHING, sessionId, found),
          );
      });
    return () => leaving.abort();
  }, [api, path, place, sessionId, round]);

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

  const shownNow = { sessionId, branch: shown.branch, open };
  const post = async (message: UnsentMessage) => {
    const { turn } = await api.request<{ turn: Turn }>(`${path}/messages`, { body: bodyOf(message) });
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
    put({ ...message, error: undefined });
    try {
      await post(message);
      discard(message);
    } catch (error) {
      put({ ...message, error: asApiError(error) });
    }
  };

  const reload = () => {
    onBranch();
    onChange();
    setRound((before) => before + 1);
  };

  return {
    ...shown,
    async chooseModel(model) {
      await api.request(`${path}/model`, { method: 'PUT', body: { model } });
      setState((before) => ({
        ...(before.sessionId === sessionId ? before : { ...NOTHING, loading: false }),
        sessionId,
        model,
      }));
    },
    async fork({ task_id }, text) {
      await api.request(`${path}/branches`, {
        body: { task_id, timezone: browserTimezone(), ...(text !== undefined && { text }) },
      });
      reload();
    },
    async step({ task_id, session_id }, by) {
      const beside = shown.branches[task_id] ?? [];
      const branch = beside[beside.indexOf(session_id) + by];
      if (branch === undefined) return;
      await api.request(`${path}/branch`, { method: 'PUT', body: { branch } });
      reload();
    },
    unsent: unsent.filter((message) => message.sessionId === sessionId),
    say: (text, attachments = []) => retry(newMessage(shownNow, text, attachments)),
    retry,
    discard,
    open,
    hasOlder: shown.next !== null,
    async loadOlder() {
      const asked = shown.branch === undefined ? path : sessionPath(shown.branch);
      const { turns, next, branches } = await api.request<TurnsPage>(`${asked}?before=${shown.next}`);
      setState((before) => ({
        ...before,
        turns: [...turns, ...before.turns],
        next,
        branches: { ...branches, ...before.branches },
      }));
    },
    send: (text, attachments = []) => post(newMessage(shownNow, text, attachments)),
    async stop() {
      if (open !== undefined) await api.request(`/api/tasks/${open.task_id}/cancel`, { method: 'POST' });
    },
  };
}

function sessionPath(sessionId: string): string {
  return `/api/chat/sessions/${encodeURIComponent(sessionId)}`;
}

export function newMessage(
  { open, ...place }: Pick<UnsentMessage, 'sessionId' | 'branch'> & { open: Turn | undefined },
  text: string,
  attachments: readonly Attached[],
): UnsentMessage {
  const taskId = open !== undefined && isParked(open) ? open.task_id : undefined;
  return { id: randomId(), ...place, taskId, text, attachments, error: undefined };
}

/** The same with every attempt. */
export function bodyOf({ id, branch, taskId, text, attachments }: UnsentMessage) {
  const files = attachments.flatMap((file) => ('id' in file ? [file.id] : []));
  return {
    text,
    attachments: attachments.filter((file) => 'text' in file),
    ...(files.length > 0 && { files }),
    message_id: id,
    timezone: browserTimezone(),
    ...(branch !== undefined && { branch }),
    ...(taskId !== undefined && { task_id: taskId }),
  };
}

interface ConversationState {
  sessionId: string | undefined;
  /** The branch whose turns are shown; undefined before the service has said. */
  branch: string | undefined;
  model: string | null;
  branches: Branches;
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
  branch: undefined,
  model: null,
  branches: {},
  title: undefined,
  turns: [],
  next: null,
  loading: true,
  loaded: false,
  error: undefined,
};

type Found = Pick<ConversationState, 'title' | 'branch' | 'model' | 'branches' | 'turns' | 'next' | 'error'>;

/**
 * What is shown of a branch stays as it is: something may have been said before the answer came, and older turns were
 * loaded. Of another branch nothing stays.
 */
function withFound(before: ConversationState, sessionId: string, found: Found): ConversationState {
  const isOther = before.branch !== undefined && found.branch !== undefined && before.branch !== found.branch;
  const shown = isOther ? NOTHING : before;
  const isShown = shown.turns.length > 0;
  return {
    sessionId,
    loading: false,
    branch: found.branch ?? shown.branch,
    model: found.error === undefined ? found.model : shown.model,
    branches: { ...shown.branches, ...found.branches },
    title: found.title ?? shown.title,
    turns: mergeTurns(found.turns, shown.turns),
    next: shown.loaded ? shown.next : found.next,
    loaded: true,
    error: isShown ? undefined : found.error,
  };
}

/** Turns as they were loaded, with those that are shown already as they are shown; each once. */
export function mergeTurns(loaded: readonly Turn[], shown: readonly Turn[]): Turn[] {
  const byTask = new Map([...loaded, ...shown].map((turn) => [turn.task_id, turn]));
  return [...byTask.values()];
}
