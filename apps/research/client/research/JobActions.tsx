import { Button, Menu, useApi, useHotkeys } from '@trunkline/ui';
import { Download, Link, RotateCcw, Square } from 'lucide-react';
import { useState } from 'react';
import type { JobSnapshot } from '../../api-types.ts';
import { downloadFile } from '../lib/download.ts';
import { useAction } from '../lib/useAction.ts';
import { useRunAgain } from '../lib/useRunAgain.ts';
import { ShareDialog } from './ShareDialog.tsx';
import type { JobHandle } from './useJob.ts';

interface JobActionsProps {
  job: JobHandle;
  snapshot: JobSnapshot;
}

/** Stop while it runs; then export, share, run again. */
export function JobActions({ job, snapshot }: JobActionsProps) {
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

const FORMATS = [
  ['md', 'Markdown'],
  ['html', 'Web page'],
  ['docx', 'Word document'],
  ['pdf', 'PDF'],
  ['bib', 'Sources as BibTeX'],
] as const;

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
