import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react';
import { KeyPrompt } from '../components/KeyPrompt.tsx';
import { readStored } from '../lib/storage.ts';
import { type Api, createApi, type KeyScheme } from './api.ts';

interface ApiProviderProps {
  /** The name under which the key is kept in local storage. */
  keyName: string;
  scheme: KeyScheme;
  /** Whose key is asked for, in words: "the voice service". */
  owner: string;
  children: ReactNode;
}

/** Gives the page one way to call its service, and asks for a key when the service wants one. */
export function ApiProvider({ keyName, scheme, owner, children }: ApiProviderProps) {
  const [question, setQuestion] = useState<Question | null>(null);
  // Requests that fail together wait for the same answer.
  const pending = useRef<Promise<string | null> | null>(null);
  const api = useMemo(() => {
    const ask = (refused: boolean) =>
      new Promise<string | null>((resolve) => setQuestion({ refused, answer: resolve })).finally(() => {
        pending.current = null;
        setQuestion(null);
      });
    return createApi({
      scheme,
      readKey: () => readStored(keyName),
      askKey(refused) {
        pending.current ??= ask(refused);
        return pending.current;
      },
    });
  }, [keyName, scheme]);
  return (
    <ApiContext value={api}>
      {children}
      {question && (
        <KeyPrompt
          storageName={keyName}
          owner={owner}
          refused={question.refused}
          onAnswer={question.answer}
        />
      )}
    </ApiContext>
  );
}

/** The page's way to call its service. */
export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === null) throw new Error('useApi needs an ApiProvider around the page');
  return api;
}

interface Question {
  refused: boolean;
  answer(key: string | null): void;
}

const ApiContext = createContext<Api | null>(null);
