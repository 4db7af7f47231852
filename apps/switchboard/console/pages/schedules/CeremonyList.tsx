import { Badge, Button, Lamp, ListPanel, RelativeTime } from '@trunkline/ui';
import { CirclePlay, Users } from 'lucide-react';
import { useList, useSend } from '../../shared/useList.ts';
import type { Ceremony, CeremonyRun } from './wire.ts';

const TONES = { running: 'waiting', success: 'live', failure: 'failed', timeout: 'failed' } as const;

/** What agents perform together, with the next and the last run. */
export function CeremonyList() {
  const send = useSend();
  const list = useList<Ceremony>('/api/ceremonies', ['ceremony.#', 'config.updated']);
  return (
    <ListPanel
      title="Ceremonies"
      what="the ceremonies"
      list={list}
      empty={{
        icon: <Users aria-hidden />,
        title: 'No ceremonies yet',
        next: 'Put a file into ceremonies/ of the workspace; the guide to schedules shows one.',
      }}
      itemKey={({ id }) => id}
    >
      {(ceremony) => (
        <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
          <div className="min-w-0 flex-1 basis-60">
            <p className="flex flex-wrap items-center gap-x-3 font-medium">
              {ceremony.name}
              {ceremony.enabled ? <Lamp state="live" word="On" /> : <Lamp state="idle" word="Off" />}
            </p>
            <p className="flex flex-wrap gap-x-3 text-12 text-muted">
              <span className="font-mono">{ceremony.schedule} UTC</span>
              <span>{ceremony.skill}</span>
              <span>{ceremony.targets.join(', ') || 'whoever the router finds'}</span>
              {ceremony.nextRun && (
                <span>
                  next <RelativeTime at={ceremony.nextRun} />
                </span>
              )}
            </p>
            {ceremony.lastRun && <LastRun run={ceremony.lastRun} />}
          </div>
          <Button
            size="small"
            icon={<CirclePlay aria-hidden />}
            onClick={() =>
              void send(`/api/ceremonies/${encodeURIComponent(ceremony.id)}/run`, {
                title: `${ceremony.name} begins.`,
              })
            }
          >
            Run now
          </Button>
        </li>
      )}
    </ListPanel>
  );
}

function LastRun({ run }: { run: CeremonyRun }) {
  return (
    <p className="mt-1 flex flex-wrap items-center gap-2 text-12">
      <Badge tone={TONES[run.status]}>{run.status}</Badge>
      <RelativeTime at={run.startedAt} />
      <span className="min-w-0 break-words text-muted">{run.detail}</span>
    </p>
  );
}
