import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react';
import { KeyPrompt } from '../components/KeyPrompt.tsx';
import { readStored } from '../lib/storage.ts';
import { ProviderLink, useOperator } from '../operator/OperatorProvider.tsx';
import { type Api, createApi, type KeyScheme } from './api.ts';

interface ApiProviderProps {
  /** The key's name in local storage. */
  keyName: string;
  scheme: KeyScheme;
  /** Whose key is asked for, in words: "the voice service". */
  owner: string;
  children: ReactNode;
}

/** Gives the page one way to call its service, and asks for a key when the service wants one. */
export function ApiProvider({ keyName, scheme, owner, children }: ApiProviderProps) {
  const { status, session, ask: askOperator, noteMissed } = useOperator();
  const [question, setQuestion] = useState<Question | null>(null);
  // Requests that fail together wait for the same answer.
  const pending = useRef<Promise<string | null> | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: in a new session everything is loaded again
  const api = useMemo(() => {
    const ask = (refused: boolean, reason?: string) =>
      new Promise<string | null>((resolve) => setQuestion({ refused, reason, answer: resolve })).finally(
        () => {
          pending.current = null;
          setQuestion(null);
        },
      );
    return createApi({
      scheme,
      readKey: () => readStored(keyName),
      askKey(refused, reason) {
        pending.current ??= ask(refused, reason);
        return pending.current;
      },
      askOperator: () => askOperator(true),
      onOperatorMissed: noteMissed,
    });
  }, [keyName, scheme, askOperator, noteMissed, session]);
  const signIn = async () => {
    if (await askOperator()) question?.answer('');
  };
  return (
    <ApiContext value={api}>
      {children}
      {question && (
        <KeyPrompt
          storageName={keyName}
          owner={owner}
          refused={question.refused}
          reason={question.reason}
          alternative={
            status.provider && status.role === undefined && <ProviderLink provider={status.provider} />
          }
          onSignIn={status.name === 'signed-out' ? () => void signIn() : undefined}
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
  reason: string | undefined;
  answer(key: string | null): void;
}

const ApiContext = createContext<Api | null>(null);
