import { KeyRound, ShieldCheck } from 'lucide-react';
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
import { Button, buttonClass, CopyButton, IconButton } from '../components/Button.tsx';
import { Dialog } from '../components/Dialog.tsx';
import { TextField } from '../components/Field.tsx';
import { Lamp } from '../components/Lamp.tsx';
import {
  loginAddress,
  type OperatorStatus,
  readOperatorStatus,
  signInWithKey,
  signOutOperator,
  UNKNOWN,
} from './operatorApi.ts';

const PURPOSE = 'The operator changes settings, runs programs and approves what agents want to do.';

export interface Operator {
  status: OperatorStatus;
  /** Something on this page was withheld because this browser is not signed in. */
  missed: boolean;
  /** Changes when the browser signs in after something was withheld: time to load it again. */
  session: number;
  /** Opens the dialog to sign in, or out. Gives whether this browser is signed in then. */
  ask(refused?: boolean): Promise<boolean>;
  /** Records that something was withheld. */
  noteMissed(): void;
}

/** Knows whether this browser is the operator's, and asks when it has to be. */
export function OperatorProvider({ children }: { children: ReactNode }) {
  const [status, setStatus] = useState(UNKNOWN);
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
    setStatus((before) => ({ ...before, name: 'signed-in' }));
    question?.answer(true);
    if (missed) setSession((count) => count + 1);
    setMissed(false);
  }, [question, missed]);
  // The key of an account without the rights of the operator signs in too: the page shows what it may see then.
  const keyTaken = useCallback(
    () => void check().then(({ name }) => (name === 'signed-out' ? window.location.reload() : signedIn())),
    [check, signedIn],
  );
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
          onSignedIn={keyTaken}
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

interface OperatorDialogProps {
  status: OperatorStatus;
  /** A request was refused because this browser is not signed in. */
  refused: boolean;
  /** Looks whether the browser was signed in meanwhile, by the link in another tab. */
  onCheck(): void;
  onSignedIn(): void;
  onClose(): void;
}

/** Signs this browser in as the operator, or out. */
function OperatorDialog({ status, refused, onCheck, onSignedIn, onClose }: OperatorDialogProps) {
  useOnReturn(onCheck);
  if (status.name !== 'signed-out') return <SignedIn status={status} onClose={onClose} />;
  const { role, provider } = status;
  const detail = refused ? `Only the operator may do this. ${PURPOSE}` : PURPOSE;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Sign in as operator"
      detail={role === undefined ? detail : `This browser is signed in as ${role}. ${detail}`}
    >
      <div className="flex flex-col gap-6">
        {role !== undefined && <SignOut status={status} />}
        {role === undefined && provider && <ProviderLink provider={provider} primary />}
        <section className="flex flex-col gap-2">
          <h3 className="font-medium text-14">With a link</h3>
          <p className="text-14">
            In the folder of Trunkline, on the machine that runs it, run this and open the link that it
            prints:
          </p>
          <Copyable text="npx trunkline login" label="Copy the command" />
        </section>
        <KeyForm keyFile={status.keyFile} onSignedIn={onSignedIn} />
      </div>
    </Dialog>
  );
}

function KeyForm({ keyFile, onSignedIn }: { keyFile: string; onSignedIn(): void }) {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  const send = async () => {
    setSending(true);
    const reason = await signInWithKey(key.trim());
    setSending(false);
    setProblem(reason);
    if (reason === undefined) onSignedIn();
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (key.trim() !== '' && !sending) void send();
      }}
    >
      <h3 className="font-medium text-14">Or with the key</h3>
      <p className="text-14">It stands in this file on that machine:</p>
      <Copyable text={keyFile} label="Copy the path" />
      <TextField
        label="Operator's key"
        type="password"
        mono
        autoComplete="current-password"
        autoFocus
        value={key}
        error={problem}
        onChange={(event) => {
          setKey(event.target.value);
          setProblem(undefined);
        }}
      />
      <div className="mt-2 flex justify-end">
        <Button type="submit" variant="primary" busy={sending} disabled={key.trim() === ''}>
          Sign in
        </Button>
      </div>
    </form>
  );
}

/** Leads to another place to sign in at, and back to this page. */
export function ProviderLink({ provider, primary = false }: ProviderLinkProps) {
  return (
    <a href={loginAddress(provider)} className={buttonClass({ variant: primary ? 'primary' : 'secondary' })}>
      Sign in with {provider.name}
    </a>
  );
}

interface ProviderLinkProps {
  provider: NonNullable<OperatorStatus['provider']>;
  primary?: boolean;
}

function SignedIn({ status, onClose }: { status: OperatorStatus; onClose(): void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="You are the operator"
      detail={`This browser is signed in to all services on ${window.location.hostname}. ${PURPOSE}`}
    >
      <SignOut status={status}>
        <Button variant="primary" onClick={onClose}>
          Stay signed in
        </Button>
      </SignOut>
    </Dialog>
  );
}

function SignOut({ status, children }: { status: OperatorStatus; children?: ReactNode }) {
  const [problem, setProblem] = useState<string>();
  const signOut = async (alsoThere: boolean) => {
    try {
      const there = await signOutOperator();
      // What only the operator may see leaves the page with the session.
      if (alsoThere && there !== undefined) window.location.assign(there);
      else window.location.reload();
    } catch {
      setProblem('The service does not answer, so this browser is still signed in. Try again.');
    }
  };
  return (
    <>
      {problem && (
        <p role="alert" className="text-14 text-failed-text">
          {problem}
        </p>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        {status.role !== undefined && status.provider && (
          <Button onClick={() => void signOut(true)}>Sign out of {status.provider.name} too</Button>
        )}
        <Button onClick={() => void signOut(false)}>Sign out</Button>
        {children}
      </div>
    </>
  );
}

function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <p className="flex items-center justify-between gap-2 rounded-small bg-sunken py-1 pr-1 pl-3">
      <code className="min-w-0 break-all text-12">{text}</code>
      <CopyButton value={text} label={label} />
    </p>
  );
}

/** The link opens in a tab of its own; back in this one, the question may be answered already. */
function useOnReturn(check: () => void): void {
  useEffect(() => {
    window.addEventListener('focus', check);
    return () => window.removeEventListener('focus', check);
  }, [check]);
}

/** Says that a part of the page is for the operator, with the way to sign in. */
export function OperatorBanner() {
  const { status, missed, ask } = useOperator();
  if (!missed || status.name !== 'signed-out') return null;
  return (
    <section
      aria-label="Operator"
      className="m-4 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-corner bg-waiting-wash px-4 py-3 sm:mx-8"
    >
      <Lamp state="waiting" dotOnly />
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-semibold text-14">A part of this page is for the operator.</p>
        <p className="text-14">Settings, files with secrets and approvals show up once you sign in.</p>
      </div>
      <Button variant="primary" onClick={() => void ask()}>
        Sign in as operator
      </Button>
    </section>
  );
}

/** How the shell shows whether this browser is the operator's; undefined where nobody needs to sign in. */
export function operatorWords({ name }: OperatorStatus): { label: string; icon: ReactNode } | undefined {
  if (name === 'signed-in') return { label: 'Operator: sign out', icon: <ShieldCheck aria-hidden /> };
  if (name === 'signed-out') return { label: 'Sign in as operator', icon: <KeyRound aria-hidden /> };
  return undefined;
}

export function OperatorButton() {
  const { status, ask } = useOperator();
  const words = operatorWords(status);
  if (words === undefined) return null;
  return <IconButton {...words} side="right" onClick={() => void ask()} />;
}
