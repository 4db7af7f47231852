import type { Chart } from '@trunkline/std/chart';
import { type Api, type ApiError, asApiError, useApi } from '@trunkline/ui';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { CheckedAnswer, CitedSource } from '../../api-types.ts';
import { type ChatPart, readChat } from './chatStream.ts';

export interface Chat {
  messages: readonly ChatMessage[];
  isLoading: boolean;
  isAnswering: boolean;
  /** Why the conversation could not be loaded. */
  error: ApiError | undefined;
  ask(question: string): void;
  /** Asks the last question again. */
  askAgain(): void;
  stop(): void;
}

/** A conversation that the service keeps under its id. */
export function useChat(id: string): Chat {
  const api = useApi();
  const [messages, setMessages] = useState<readonly ChatMessage[]>([]);
  const [state, setState] = useState<'loading' | 'ready' | 'answering'>('loading');
  const [error, setError] = useState<ApiError>();
  const leaving = useRef<AbortController>(undefined);

  const answer = useCallback(
    async (asked: readonly ChatMessage[]) => {
      const controller = new AbortController();
      leaving.current = controller;
      setState('answering');
      let reply: ChatMessage = { role: 'assistant', content: '' };
      setMessages([...asked, reply]);
      let isOpen = false;
      try {
        const parts = await openChat(api, id, asked, controller.signal);
        isOpen = true;
        for await (const part of parts) {
          reply = withPart(reply, part);
          setMessages([...asked, reply]);
        }
      } catch (failure) {
        const words = controller.signal.aborted ? 'You stopped the answer.' : sendFailure(failure);
        reply = { ...reply, error: words };
        setMessages(isOpen || controller.signal.aborted ? [...asked, reply] : withUnsent(id, asked, words));
      }
      setState('ready');
    },
    [api, id],
  );

  useEffect(() => {
    const pending = takePending(id);
    if (pending !== undefined) {
      void answer([{ role: 'user', content: pending }]);
      return;
    }
    const loading = new AbortController();
    void api
      .request<{ messages: ChatMessage[] }>(`/api/chat/${encodeURIComponent(id)}`, { signal: loading.signal })
      .then((stored) => setMessages(stored.messages))
      .catch((failure: unknown) => !loading.signal.aborted && setError(asApiError(failure)))
      .finally(() => !loading.signal.aborted && setState('ready'));
    return () => loading.abort();
  }, [api, id, answer]);

  useEffect(() => () => leaving.current?.abort(), []);

  const lastAsked = messages.findLastIndex(({ role }) => role === 'user');
  return {
    messages,
    isLoading: state === 'loading',
    isAnswering: state === 'answering',
    error,
    ask: (question) => void answer([...messages, { role: 'user', content: question }]),
    askAgain: () => {
      const { unsent: _, ...last } = messages[lastAsked] ?? { role: 'user', content: '' };
      takePending(id);
      void answer([...messages.slice(0, lastAsked), last]);
    },
    stop: () => leaving.current?.abort(),
  };
}

/** The last question with why it did not reach the service; the first one of a conversation is asked when the page is loaded again. */
function withUnsent(id: string, asked: readonly ChatMessage[], unsent: string): ChatMessage[] {
  const last = asked.at(-1);
  if (last === undefined) return [];
  if (asked.length === 1) putPending(id, last.content);
  return [...asked.slice(0, -1), { ...last, unsent }];
}

/** The browser says only that a fetch failed. */
function sendFailure(failure: unknown): string {
  return failure instanceof TypeError ? 'The service does not answer.' : asApiError(failure).message;
}

/** Sends the conversation; asks for a key as any request does when the service wants one. */
async function openChat(api: Api, id: string, asked: readonly ChatMessage[], signal: AbortSignal) {
  const messages = asked
    .filter(({ content }) => content !== '')
    .map(({ role, content }) => ({ role, content }));
  for (;;) {
    const key = api.keyHeaders();
    const response = await fetch('/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
      body: JSON.stringify({ id, messages }),
      signal,
    });
    if (response.ok && response.body !== null) return readChat(response.body);
    const hadKey = Object.keys(key).length > 0;
    if (response.status === 401 && (await api.askKey(hadKey)) !== null) continue;
    const body = (await response.json()) as { error?: string };
    throw new Error(body.error ?? `The service answered with status ${response.status}.`);
  }
}

export interface ChatMessage {
  role: 'user' | 'assistant';
  content: string;
  sources?: CitedSource[];
  /** Which services could not be asked, in words. */
  troubles?: string[];
  charts?: Chart[];
  /** The answer with its statements checked, once it is whole. */
  checked?: CheckedAnswer;
  /** What the model thought, while the answer is shown. */
  reasoning?: string;
  /** What was searched for, while the answer is made. */
  searches?: string[];
  /** What was done to the conversation for this answer. */
  note?: string;
  /** Why the answer broke off. */
  error?: string;
  /** Why the question did not reach the service. */
  unsent?: string;
}

/** The answer after one more part of the stream. */
export function withPart(answer: ChatMessage, part: ChatPart): ChatMessage {
  switch (part.type) {
    case 'text':
      return { ...answer, content: answer.content + part.text };
    case 'reasoning':
      return { ...answer, reasoning: (answer.reasoning ?? '') + part.text };
    case 'tool':
      return {
        ...answer,
        searches: [...(answer.searches ?? []), part.query],
        sources: merged(answer.sources ?? [], part.results),
        troubles: part.troubles,
      };
    case 'chart':
      return { ...answer, charts: [...(answer.charts ?? []), part.chart] };
    case 'note':
      return { ...answer, note: part.text };
    case 'question':
      return { ...answer, content: part.question };
    case 'checked':
      return { ...answer, checked: part.checked };
    case 'error':
      return { ...answer, error: part.message };
    default:
      return answer;
  }
}

/** Each number once; a later search may find the same page again. */
function merged(known: readonly CitedSource[], more: readonly CitedSource[]): CitedSource[] {
  return [...new Map([...known, ...more].map((source) => [source.number, source])).values()];
}

/** Some models end with a list of sources of their own, which stands beside the answer already. */
export function withoutSourceList(text: string): string {
  return text
    .replace(
      /(?:\n+(?:\*{0,2}(?:Sources|References):?\*{0,2}\s*)?(?:\n*\s*(?:[-*]\s*)?\[?\d{1,3}[\].)]\s.*https?:\/\/\S+)+)\s*$/,
      '',
    )
    .trimEnd();
}

/** The sources that the answer cites; all that were found when it cites none. */
export function citedBy(content: string, sources: readonly CitedSource[]): CitedSource[] {
  const cited = new Set([...content.matchAll(/\[(\d{1,3})\??\]/g)].map(([, number]) => Number(number)));
  const found = sources.filter(({ number }) => number !== null && cited.has(number));
  return found.length > 0 ? found : [...sources];
}

const keyOf = (id: string) => `trunkline.research.pending.${id}`;

/** Keeps the first question of a conversation until its page asks it, also when the page is loaded again before. */
export function putPending(id: string, question: string): void {
  sessionStorage.setItem(keyOf(id), question);
}

function takePending(id: string): string | undefined {
  const question = sessionStorage.getItem(keyOf(id)) ?? undefined;
  sessionStorage.removeItem(keyOf(id));
  return question;
}
