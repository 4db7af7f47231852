import { Button, CopyButton, RuleLink, TextField, useOperator, useSend } from '@trunkline/ui';
import { ShieldQuestion } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import type { ApprovalView } from '../../approvals/approvals.ts';

/** The approval that a question asks for; none when it is another one. */
export function approvalOf(schema: unknown): ApprovalView | undefined {
  if (typeof schema !== 'object' || schema === null || !('approval' in schema)) return undefined;
  return schema.approval as ApprovalView;
}

/** What the agent wants to run, whole and with nothing hidden, for the operator to approve or deny. */
export function ApprovalCard({ approval }: { approval: ApprovalView }) {
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
      <Answer id={approval.id} hasScope={noun === 'call'} />
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

function Answer({ id, hasScope }: { id: string; hasScope: boolean }) {
  const send = useSend();
  const [sending, setSending] = useState(false);
  const [note, setNote] = useState('');
  const { status, ask } = useOperator();
  if (status.name === 'unknown') return null;
  if (status.name === 'signed-out')
    return (
      <div className="flex flex-col items-start gap-3">
        <p className="text-14">
          Only the operator can approve this: here, or in a terminal with <code>trunkline approvals</code>.
        </p>
        <Button onClick={() => void ask()}>Sign in as operator</Button>
      </div>
    );
  const answer = async (approve: boolean, scope = 'once') => {
    setSending(true);
    const body = {
      approve,
      ...(approve && hasScope && { scope }),
      ...(!approve && note.trim() !== '' && { note: note.trim() }),
    };
    await send(`/api/approvals/${id}`, { body });
    setSending(false);
  };
  return (
    <div className="flex flex-col gap-3">
      <TextField
        label="Why not (optional)"
        value={note}
        disabled={sending}
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="flex flex-wrap justify-end gap-2">
        <Button disabled={sending} onClick={() => void answer(false)}>
          Deny
        </Button>
        {hasScope && (
          <>
            <Button disabled={sending} onClick={() => void answer(true, 'always')}>
              Always allow
            </Button>
            <Button disabled={sending} onClick={() => void answer(true, 'task')}>
              Approve for this task
            </Button>
          </>
        )}
        <Button variant="primary" busy={sending} onClick={() => void answer(true)}>
          Approve once
        </Button>
      </div>
    </div>
  );
}
