import { Button, ErrorState, useApi } from '@trunkline/ui';
import { Play } from 'lucide-react';
import type { ReactNode } from 'react';
import type { JobPhase, JobSnapshot } from '../../api-types.ts';
import { useAction } from '../lib/useAction.ts';
import type { JobHandle } from './useJob.ts';

const PARTS: Record<JobPhase, string> = {
  scope: 'planning',
  research: 'researching',
  evaluate: 'looking for gaps',
  synthesis: 'writing the report',
  done: 'finishing',
};

/** Which part failed and why, and the way on from there. */
export function FailureCard({ job, snapshot }: { job: JobHandle; snapshot: JobSnapshot }) {
  const api = useApi();
  const { busy, run } = useAction('The research could not go on.');
  const goOn = () =>
    run(async () => {
      await api.request(`/api/research/deep/${job.id}/resume`, { body: {} });
      job.follow();
    });
  const action = (
    <Button variant="primary" icon={<Play aria-hidden />} busy={busy} onClick={goOn}>
      Go on from there
    </Button>
  );
  if (snapshot.status === 'cancelled') return <StoppedCard snapshot={snapshot} action={action} />;
  return (
    <ErrorState
      what={`The research failed while ${PARTS[snapshot.phase]}${openParts(snapshot)}.`}
      why={snapshot.error ?? 'The log of the service has the cause.'}
      todo="Mend that, then go on: what was done before is kept."
      action={action}
    />
  );
}

function StoppedCard({ snapshot, action }: { snapshot: JobSnapshot; action: ReactNode }) {
  return (
    <section
      aria-label="Stopped"
      className="flex flex-wrap items-center gap-4 rounded-corner border border-line bg-raised p-4"
    >
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-semibold text-14">
          You stopped this research while it was {PARTS[snapshot.phase]}.
        </p>
        <p className="text-14 text-muted">What was found so far is kept.</p>
      </div>
      {action}
    </section>
  );
}

/** The dimensions that were not finished, where the failure was in one. */
function openParts({ phase, plan }: JobSnapshot): string {
  if (phase !== 'research') return '';
  const open = plan.filter(({ state, troubles }) => state !== 'done' || troubles.length > 0);
  if (open.length > 1 && open.length === plan.length) return ` all of its ${plan.length} points`;
  return open.length === 0 ? '' : ` “${open.map(({ name }) => name).join('”, “')}”`;
}
