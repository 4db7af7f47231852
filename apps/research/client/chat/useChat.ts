import { type Api, type ApiError, asApiError, useApi } from '@trunkline/ui';
import { useCallback, useEffect, useRef, useState } from 'react';
import { readChat } from './chatStream.ts';
import { type ChatMessage, withPart } from './messages.ts';
import { takePending } from './pending.ts';

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
      try {
        for await (const part of await openChat(api, id, asked, controller.signal)) {
          reply = withPart(reply, part);
          setMessages([...asked, reply]);
        }
      } catch (failure) {
        const words = controller.signal.aborted ? 'You stopped the answer.' : asApiError(failure).message;
        reply = { ...reply, error: words };
        setMessages([...asked, reply]);
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
    askAgain: () => void answer(messages.slice(0, lastAsked + 1)),
    stop: () => leaving.current?.abort(),
  };
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
