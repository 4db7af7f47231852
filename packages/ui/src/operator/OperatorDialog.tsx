import { useEffect, useState } from 'react';
import { Button } from '../components/Button.tsx';
import { CopyButton } from '../components/CopyButton.tsx';
import { Dialog } from '../components/Dialog.tsx';
import { TextField } from '../components/TextField.tsx';
import { type OperatorStatus, signInWithKey, signOutOperator } from './operatorApi.ts';

interface OperatorDialogProps {
  status: OperatorStatus;
  /** A request was refused because this browser is not signed in. */
  refused: boolean;
  /** Looks whether the browser was signed in meanwhile, by the link in another tab. */
  onCheck(): void;
  onSignedIn(): void;
  onClose(): void;
}

const PURPOSE = 'The operator changes settings, runs programs and approves what agents want to do.';

/** Signs this browser in as the operator, or out. */
export function OperatorDialog({ status, refused, onCheck, onSignedIn, onClose }: OperatorDialogProps) {
  useOnReturn(onCheck);
  if (status.name !== 'signed-out') return <SignedIn onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Sign in as operator"
      detail={refused ? `Only the operator may do this. ${PURPOSE}` : PURPOSE}
    >
      <div className="flex flex-col gap-6">
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

function SignedIn({ onClose }: { onClose(): void }) {
  const [problem, setProblem] = useState<string>();
  const signOut = async () => {
    try {
      await signOutOperator();
      // What only the operator may see leaves the page with the session.
      window.location.reload();
    } catch {
      setProblem('The service does not answer, so this browser is still signed in. Try again.');
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="You are the operator"
      detail={`This browser is signed in to all services on ${window.location.hostname}. ${PURPOSE}`}
      actions={
        <>
          <Button onClick={() => void signOut()}>Sign out</Button>
          <Button variant="primary" onClick={onClose}>
            Stay signed in
          </Button>
        </>
      }
    >
      {problem && (
        <p role="alert" className="text-14 text-failed-text">
          {problem}
        </p>
      )}
    </Dialog>
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
