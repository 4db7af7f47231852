import { Button, CopyButton, Dialog, useApi, useToast } from '@trunkline/ui';
import type { JobSnapshot } from '../../api-types.ts';
import { useAction } from '../lib/useAction.ts';
import type { JobHandle } from './useJob.ts';

interface ShareDialogProps {
  open: boolean;
  onClose(): void;
  job: JobHandle;
  snapshot: JobSnapshot;
}

/** Makes the link to the report, and takes it back. */
export function ShareDialog({ open, onClose, job, snapshot }: ShareDialogProps) {
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
