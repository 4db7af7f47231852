import type { ApprovalAnswer, ApprovalView } from '@trunkline/std';
import { ShieldQuestion } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { useOperator } from '../operator/OperatorProvider.tsx';
import { Button, CopyButton } from './Button.tsx';
import { TextField } from './Field.tsx';
import { RuleLink } from './RuleLink.tsx';

interface ApprovalCardProps {
  approval: ApprovalView;
  /** Whoever reads this may approve it without being the operator. */
  mayApprove?: boolean | undefined;
  onAnswer(answer: ApprovalAnswer): Promise<unknown>;
}

/** What an agent wants to run, whole and with nothing hidden, to approve or deny. */
export function ApprovalCard({ approval, ...rest }: ApprovalCardProps) {
  const titleId = useId();
  const { title, noun, note, shown, size, directory, reason, rule, files, text } = approval;
  return (
    <section
      aria-labelledby={titleId}
      className="flex max-w-reading flex-col gap-3 rounded-corner border border-accent-strong bg-accent-wash p-4"
    >
      <h3 id={titleId} className="flex gap-3 text-16">
        <ShieldQuestion aria-hidden className="mt-0.5 size-5 shrink-0 text-accent-text" />
        <span className="min-w-0 break-words">{title}</span>
      </h3>
      {note && <p className="text-14">{note}</p>}
      <figure className="min-w-0 overflow-hidden rounded-corner border border-line bg-sunken">
        <figcaption className="flex min-h-9 items-center justify-between gap-2 border-line border-b py-1 pr-1 pl-4 font-mono text-12 text-muted">
          {`The ${noun}, ${size}`}
          <CopyButton value={text} label={`Copy the ${noun}`} />
        </figcaption>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
          tabIndex={0}
          className="max-h-96 overflow-auto whitespace-pre-wrap break-all p-4 text-12 leading-5 focus-visible:-outline-offset-2"
        >
          <code>{shown}</code>
        </pre>
      </figure>
      {reason && <p className="break-words text-14 first-letter:uppercase">{reason}.</p>}
      {rule && <RuleLink rule={rule} />}
      <dl className="flex flex-col gap-1 text-12">
        {directory && <Fact name="Directory">{directory}</Fact>}
        {files.map(({ path, sha256 }) => (
          <Fact key={path} name="Runs">{`${path} (SHA-256 ${sha256.slice(0, 16)}…)`}</Fact>
        ))}
      </dl>
      <Answer hasScope={noun === 'call'} {...rest} />
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-3">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 break-all font-mono">{children}</dd>
    </div>
  );
}

interface AnswerProps extends Omit<ApprovalCardProps, 'approval'> {
  hasScope: boolean;
}

function Answer({ hasScope, mayApprove = false, onAnswer }: AnswerProps) {
  const [sending, setSending] = useState(false);
  const [note, setNote] = useState('');
  const { status, ask } = useOperator();
  if (status.name === 'unknown') return null;
  const isOperator = status.name !== 'signed-out';
  if (!isOperator && !mayApprove)
    return (
      <div className="flex flex-col items-start gap-3">
        <p className="text-14">
          Only the operator can approve this: here, or in a terminal with <code>npx trunkline approvals</code>
          .
        </p>
        <Button onClick={() => void ask()}>Sign in as operator</Button>
      </div>
    );
  const answer = async (given: ApprovalAnswer) => {
    setSending(true);
    await onAnswer(given);
    setSending(false);
  };
  const approve = (scope: 'once' | 'task' | 'always') =>
    void answer({ approve: true, ...(hasScope && { scope }) });
  const deny = () => void answer({ approve: false, ...(note.trim() !== '' && { note: note.trim() }) });
  return (
    <div className="flex flex-col gap-3">
      <TextField
        label="Why not (optional)"
        value={note}
        disabled={sending}
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="flex flex-wrap justify-end gap-2 max-sm:*:grow">
        <Button disabled={sending} onClick={deny}>
          Deny
        </Button>
        {/* Rules are the operator's: the "always" of anybody else counts for the task. */}
        {hasScope && isOperator && (
          <Button disabled={sending} onClick={() => approve('always')}>
            Always allow
          </Button>
        )}
        {hasScope && (
          <Button disabled={sending} onClick={() => approve('task')}>
            Approve for this task
          </Button>
        )}
        <Button variant="primary" busy={sending} onClick={() => approve('once')}>
          Approve once
        </Button>
      </div>
    </div>
  );
}
