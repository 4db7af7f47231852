import { Badge, duration, RelativeTime } from '@trunkline/ui';
import type { CeremonyRun } from '../../../api-types.ts';

const TONES = { running: 'waiting', success: 'live', failure: 'failed', timeout: 'failed' } as const;

/** How one performance of a ceremony went. */
export function RunWords({ run }: { run: CeremonyRun }) {
  return (
    <p className="flex flex-wrap items-center gap-2 text-12">
      <Badge tone={TONES[run.status]}>{run.status}</Badge>
      <RelativeTime at={run.startedAt} />
      {run.endedAt !== null && (
        <span className="font-mono text-muted">{duration(Math.max(0, run.endedAt - run.startedAt))}</span>
      )}
      <span className="min-w-0 break-words text-muted">{run.detail}</span>
    </p>
  );
}
