import { Button, buttonClass, hashRoute, Lamp, ListPanel, RelativeTime } from '@trunkline/ui';
import { CirclePlay, Pencil, Plus, Users } from 'lucide-react';
import type { CeremonyView } from '../../../api-types.ts';
import { NEW } from '../../shared/FilePage.tsx';
import { useList, useSend } from '../../shared/useList.ts';
import { RunWords } from './RunWords.tsx';

/** What agents perform together, with the next and the last run. */
export function CeremonyList() {
  const send = useSend();
  const list = useList<CeremonyView>('/api/ceremonies', ['ceremony.#', 'config.updated']);
  return (
    <ListPanel
      title="Ceremonies"
      what="the ceremonies"
      list={list}
      actions={
        <a className={buttonClass({ size: 'small' })} href={hashRoute('schedules', 'ceremonies', NEW)}>
          <Plus aria-hidden /> New ceremony
        </a>
      }
      empty={{
        icon: <Users aria-hidden />,
        title: 'No ceremonies yet',
        next: 'Write one with New ceremony, or put a file into ceremonies/ of the workspace.',
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
            {ceremony.lastRun && (
              <div className="mt-1">
                <RunWords run={ceremony.lastRun} />
              </div>
            )}
          </div>
          <div className="flex gap-2">
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
            <a
              className={buttonClass({ size: 'small' })}
              href={hashRoute('schedules', 'ceremonies', ceremony.id)}
              aria-label={`Change ${ceremony.name}`}
            >
              <Pencil aria-hidden /> Change
            </a>
          </div>
        </li>
      )}
    </ListPanel>
  );
}
