import {
  Badge,
  Button,
  CopyButton,
  Dialog,
  Lamp,
  Menu,
  stateLamp,
  useApi,
  useHotkeys,
  useToast,
} from '@trunkline/ui';
import { Download, Link, RotateCcw, Square, Trash2 } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import type { JobSnapshot } from '../../api-types.ts';
import { changeTexts, problemText, scoreText } from '../../citations/marks.ts';
import { downloadFile, useAction, useRunAgain } from '../lib/actions.ts';
import { costWords, countWords, durationWords } from '../lib/format.ts';
import { replaceWith } from '../lib/route.ts';
import { DeleteDialog } from '../library/DeleteDialog.tsx';
import type { JobHandle } from './useJob.ts';

const FORMATS = [
  ['md', 'Markdown'],
  ['html', 'Web page'],
  ['docx', 'Word document'],
  ['pdf', 'PDF'],
  ['bib', 'Sources as BibTeX'],
] as const;

/** Query, state, figures and actions of a job. */
export function JobHeader({ job }: { job: JobHandle }) {
  const { body } = job.snapshot;
  return (
    <header className="flex flex-col gap-4">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-3">
        <h1 className="min-w-0 flex-1 basis-80 text-28 break-words">{body?.query ?? 'Research'}</h1>
        {body && <JobActions job={job} snapshot={body} />}
      </div>
      {body && <Figures snapshot={body} loadedAt={job.snapshot.loadedAt ?? Date.now()} />}
      {body?.citations?.problem && (
        <p className="max-w-reading text-12 break-words text-muted">{problemText(body.citations)}</p>
      )}
      {changeTexts(body?.citations?.changes).map((words) => (
        <p key={words} className="max-w-reading text-12 text-muted">
          {words}
        </p>
      ))}
    </header>
  );
}

function Figures({ snapshot, loadedAt }: { snapshot: JobSnapshot; loadedAt: number }) {
  const { tokens, estimated, costUsd, sourceCount, citations, model, options } = snapshot;
  return (
    <dl className="flex flex-wrap items-center gap-x-6 gap-y-2 text-14">
      <div>
        <dt className="sr-only">State</dt>
        <dd>
          <Lamp {...lampOf(snapshot)} />
        </dd>
      </div>
      <Figure label="Time" value={<Elapsed snapshot={snapshot} loadedAt={loadedAt} />} />
      <Figure label="Sources read" value={sourceCount} />
      <Figure label="Tokens" value={`${estimated ? '≈ ' : ''}${countWords(tokens)}`} />
      <Figure label="Cost" value={costWords(costUsd)} />
      {citations?.statements !== undefined && <Figure label="Statements" value={citations.statements} />}
      {citations && <Figure label="Citations supported" value={scoreText(citations)} />}
      {citations && <Figure label="Not checked" value={citations.unchecked ?? citations.doubtful} />}
      {options.citations === 'strict' && <Mark label="Citations" value={<Badge>Strict</Badge>} />}
      {model.demo && <Mark label="Model" value={<Badge tone="accent">Offline demo model</Badge>} />}
    </dl>
  );
}

/** A badge among the figures, whose name only screen readers need. */
function Mark({ label, value }: { label: string; value: ReactNode }) {
  return (
    <div>
      <dt className="sr-only">{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Figure({ label, value }: { label: string; value: ReactNode }) {
  return (
    <div className="flex items-baseline gap-2">
      <dt className="text-12 text-muted">{label}</dt>
      <dd className="font-mono text-12">{value}</dd>
    </div>
  );
}

/** Goes on between two answers of the service. */
function Elapsed({ snapshot, loadedAt }: { snapshot: JobSnapshot; loadedAt: number }) {
  const ticks = snapshot.status === 'running' && snapshot.awaiting === undefined;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!ticks) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [ticks]);
  return durationWords(snapshot.elapsedMs + (ticks ? Math.max(0, now - loadedAt) : 0));
}

export function lampOf({ status, awaiting }: Pick<JobSnapshot, 'status' | 'awaiting'>) {
  if (awaiting === 'plan' && status === 'running') return stateLamp('asks', 'Waits for your plan');
  if (status === 'running') return stateLamp('running');
  if (status === 'error') return stateLamp('failed');
  return status === 'complete' ? stateLamp('done', 'Complete') : stateLamp('stopped');
}

interface JobActionsProps {
  job: JobHandle;
  snapshot: JobSnapshot;
}

/** Stop while it runs; then export, share, run again, delete. */
function JobActions({ job, snapshot }: JobActionsProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      {snapshot.status === 'running' ? (
        <StopButton job={job} />
      ) : (
        <FinishedActions job={job} snapshot={snapshot} />
      )}
    </div>
  );
}

function StopButton({ job }: { job: JobHandle }) {
  const api = useApi();
  const { busy, run } = useAction('The research could not be stopped.');
  const stop = () =>
    run(async () => {
      await api.request(`/api/research/deep/${job.id}`, { method: 'DELETE' });
      job.follow();
    });
  useHotkeys([{ keys: 'mod+.', label: 'Stop the research', run: stop, whileTyping: true }]);
  return (
    <Button icon={<Square aria-hidden />} busy={busy} onClick={stop}>
      Stop
    </Button>
  );
}

function FinishedActions({ job, snapshot }: JobActionsProps) {
  const [sharing, setSharing] = useState(false);
  const hasReport = snapshot.report !== undefined;
  return (
    <>
      <RunAgain id={job.id} />
      {hasReport && (
        <Button icon={<Link aria-hidden />} onClick={() => setSharing(true)}>
          Share
        </Button>
      )}
      <ExportMenu id={job.id} hasReport={hasReport} />
      <DeleteJob id={job.id} title={snapshot.query} />
      <ShareDialog open={sharing} onClose={() => setSharing(false)} job={job} snapshot={snapshot} />
    </>
  );
}

function RunAgain({ id }: { id: string }) {
  const { busy, runAgain } = useRunAgain();
  return (
    <Button variant="quiet" icon={<RotateCcw aria-hidden />} busy={busy} onClick={() => runAgain(id)}>
      Run again
    </Button>
  );
}

function DeleteJob({ id, title }: { id: string; title: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button variant="quiet" icon={<Trash2 aria-hidden />} onClick={() => setOpen(true)}>
        Delete
      </Button>
      <DeleteDialog
        item={open ? { kind: 'research', id, title } : undefined}
        onClose={() => setOpen(false)}
        onDeleted={() => replaceWith({ name: 'library' })}
      />
    </>
  );
}

function ExportMenu({ id, hasReport }: { id: string; hasReport: boolean }) {
  const api = useApi();
  const { busy, run } = useAction('The export failed.');
  const item = (format: string, label: string, disabled: boolean) => ({
    id: format,
    label,
    disabled,
    run: () => run(() => downloadFile(api, `/api/research/deep/${id}/export?format=${format}`)),
  });
  return (
    <Menu
      trigger={
        <Button icon={<Download aria-hidden />} busy={busy}>
          Export
        </Button>
      }
      groups={[
        FORMATS.map(([format, label]) => item(format, label, !hasReport)),
        [item('json', 'All evidence as JSON', false)],
      ]}
    />
  );
}

interface ShareDialogProps {
  open: boolean;
  onClose(): void;
  job: JobHandle;
  snapshot: JobSnapshot;
}

/** Makes the link to the report, and takes it back. */
function ShareDialog({ open, onClose, job, snapshot }: ShareDialogProps) {
  const api = useApi();
  const toast = useToast();
  const path = `/api/research/deep/${job.id}/share`;
  const making = useAction('The link could not be made.');
  const ending = useAction('The link could not be taken back.');
  const make = () =>
    making.run(async () => {
      await api.request(path, { method: 'POST' });
      job.snapshot.reload();
    });
  const takeBack = () =>
    ending.run(async () => {
      await api.request(path, { method: 'DELETE' });
      job.snapshot.reload();
      toast({ title: 'The link works no longer.' });
    });
  const isShared = snapshot.share !== undefined;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Share this report"
      detail="Whoever has the link can read this report and its evidence, without a key and nothing else."
      actions={
        isShared ? (
          <Button variant="danger" busy={ending.busy} onClick={takeBack}>
            Take the link back
          </Button>
        ) : (
          <Button variant="primary" busy={making.busy} onClick={make}>
            Make a link
          </Button>
        )
      }
    >
      {snapshot.share && <ShareLink address={new URL(snapshot.share, window.location.href).href} />}
    </Dialog>
  );
}

function ShareLink({ address }: { address: string }) {
  return (
    <p className="flex items-center gap-2 rounded-corner border border-line bg-sunken py-1 pr-1 pl-3">
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        className="min-w-0 flex-1 truncate font-mono text-12"
      >
        {address}
      </a>
      <CopyButton value={address} label="Copy the link" />
    </p>
  );
}
