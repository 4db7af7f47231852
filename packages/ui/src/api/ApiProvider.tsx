import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react';
import { Button } from '../components/Button.tsx';
import { Dialog } from '../components/Dialog.tsx';
import { TextField } from '../components/Field.tsx';
import { readStored, writeStored } from '../lib/browser.ts';
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

interface KeyPromptProps {
  /** The key's name in local storage. */
  storageName: string;
  /** Whose key is asked for: "the voice service". */
  owner: string;
  /** The key tried last was not accepted. */
  refused: boolean;
  /** What the service says about who may come in. */
  reason?: string | undefined;
  /** Another way in, beside the key. */
  alternative?: ReactNode;
  /** Signs the operator in instead; undefined where there is no operator. */
  onSignIn?: (() => void) | undefined;
  /** The stored key; null when the person closes the dialog. */
  onAnswer(key: string | null): void;
}

/** Asks for a key and keeps it in this browser. */
export function KeyPrompt({
  storageName,
  owner,
  refused,
  reason,
  alternative,
  onSignIn,
  onAnswer,
}: KeyPromptProps) {
  const [key, setKey] = useState('');
  const keep = () => {
    writeStored(storageName, key.trim());
    onAnswer(key.trim());
  };
  return (
    <Dialog
      open
      onClose={() => onAnswer(null)}
      title="Enter your key"
      detail={`To go on, ${owner} needs a key. It stays in this browser.`}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') keep();
        }}
      >
        {reason && <p className="break-words text-14">{reason}</p>}
        <TextField
          label="Key"
          type="password"
          mono
          autoComplete="current-password"
          autoFocus
          value={key}
          onChange={(event) => setKey(event.target.value)}
          error={
            refused && key === ''
              ? 'The service did not accept the last key. Check it and enter it again.'
              : undefined
          }
        />
        <div className="flex flex-wrap justify-end gap-2">
          {alternative}
          {onSignIn && <Button onClick={onSignIn}>Sign in as operator</Button>}
          <Button type="submit" variant="primary" disabled={key.trim() === ''}>
            Use this key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
