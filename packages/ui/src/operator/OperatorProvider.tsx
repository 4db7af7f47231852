import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { OperatorDialog } from './OperatorDialog.tsx';
import { type OperatorStatus, readOperatorStatus } from './operatorApi.ts';

export interface Operator {
  status: OperatorStatus;
  /** Something on this page was kept back because this browser is not signed in. */
  missed: boolean;
  /** Changes when the browser signs in after something was kept back: time to load it again. */
  session: number;
  /** Opens the dialog to sign in, or out. Gives whether this browser is signed in then. */
  ask(refused?: boolean): Promise<boolean>;
  /** Says that something was kept back. */
  noteMissed(): void;
}

/** Knows whether this browser is the operator's, and asks when it has to be. */
export function OperatorProvider({ children }: { children: ReactNode }) {
  const [status, setStatus] = useState<OperatorStatus>({ name: 'unknown' });
  const [question, setQuestion] = useState<Question | null>(null);
  const [missed, setMissed] = useState(false);
  const [session, setSession] = useState(0);
  // Requests that are refused together wait for the same answer.
  const pending = useRef<Promise<boolean> | null>(null);

  const check = useCallback(async () => {
    const found = await readOperatorStatus();
    setStatus(found);
    return found;
  }, []);
  useEffect(() => void check(), [check]);

  const open = useCallback(
    async (refused: boolean) => {
      const found = await check();
      if (found.name === 'unknown' || (refused && found.name !== 'signed-out'))
        return found.name !== 'unknown';
      return await new Promise<boolean>((resolve) => setQuestion({ refused, answer: resolve }));
    },
    [check],
  );
  const ask = useCallback(
    (refused = false) => {
      pending.current ??= open(refused).finally(() => {
        pending.current = null;
        setQuestion(null);
      });
      return pending.current;
    },
    [open],
  );
  const signedIn = useCallback(() => {
    setStatus({ name: 'signed-in' });
    question?.answer(true);
    if (missed) setSession((count) => count + 1);
    setMissed(false);
  }, [question, missed]);
  const lookAgain = useCallback(
    () => void check().then(({ name }) => name === 'signed-in' && question?.refused && signedIn()),
    [check, question, signedIn],
  );
  const noteMissed = useCallback(() => setMissed(true), []);
  const operator = useMemo(
    () => ({ status, missed, session, ask, noteMissed }),
    [status, missed, session, ask, noteMissed],
  );
  return (
    <OperatorContext value={operator}>
      {children}
      {question && (
        <OperatorDialog
          status={status}
          refused={question.refused}
          onCheck={lookAgain}
          onSignedIn={signedIn}
          onClose={() => question.answer(status.name === 'signed-in')}
        />
      )}
    </OperatorContext>
  );
}

export function useOperator(): Operator {
  const operator = useContext(OperatorContext);
  if (operator === null) throw new Error('useOperator needs an OperatorProvider around the page');
  return operator;
}

interface Question {
  refused: boolean;
  answer(isSignedIn: boolean): void;
}

const OperatorContext = createContext<Operator | null>(null);
