import {
  Button,
  buttonClass,
  duration,
  EmptyState,
  hashRoute,
  Lamp,
  Panel,
  RelativeTime,
  stateLamp,
  useResource,
} from '@trunkline/ui';
import { CirclePlay, Pencil, Plus, Users } from 'lucide-react';
import type { Answer, CeremonyRun, CeremonyView } from '../../../api-types.ts';
import { List, Loaded } from '../../shared/blocks.tsx';
import { FilePage, NEW } from '../../shared/FilePage.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { useList, useSend } from '../../shared/useList.ts';

const STATES = {
  running: stateLamp('running'),
  success: stateLamp('done'),
  failure: stateLamp('failed'),
  timeout: stateLamp('failed', 'Out of time'),
};

interface Performed {
  /** Null while its file is unread or invalid. */
  ceremony: CeremonyView | null;
  runs: readonly CeremonyRun[];
}

const TEMPLATE = `id: standup
name: Stand-up
# Minute, hour, day of the month, month and day of the week, in UTC.
schedule: 0 9 * * 1-5
skill: chat
# Who performs it; without any, whoever the router finds.
# targets: [helm]
# The chat channel that hears how it went.
# notifyChannel: "1234"
enabled: true
`;

export function CeremonyPage({ id }: { id: string }) {
  return (
    <FilePage
      kind="ceremony"
      all="ceremonies"
      place={['schedules', 'ceremonies']}
      name={id}
      template={TEMPLATE}
    >
      {id !== NEW && <Runs id={id} />}
    </FilePage>
  );
}

function Runs({ id }: { id: string }) {
  const send = useSend();
  const path = `/api/ceremonies/${encodeURIComponent(id)}`;
  const resource = useResource<Answer<Performed>>(`${path}?limit=200`);
  useReloadOn(['ceremony.#', 'config.updated'], resource.reload);
  return (
    <Panel
      title="Runs"
      flush
      actions={
        <Button
          size="small"
          icon={<CirclePlay aria-hidden />}
          disabled={!resource.body?.data.ceremony}
          onClick={() => void send(`${path}/run`, { title: `${id} begins.` })}
        >
          Run now
        </Button>
      }
    >
      <Loaded resource={resource} what="The list of runs" className="p-4">
        {({ runs }) => <RunList runs={runs} />}
      </Loaded>
    </Panel>
  );
}

function RunList({ runs }: Pick<Performed, 'runs'>) {
  if (runs.length === 0)
    return (
      <EmptyState
        icon={<Users aria-hidden />}
        title="It has not run yet"
        next="Run it now to see the result."
      />
    );
  return (
    <ol aria-label="Runs">
      {runs.map((run) => (
        <li key={run.runId} className="border-line border-b px-4 py-2 last:border-b-0">
          <RunWords run={run} />
        </li>
      ))}
    </ol>
  );
}

function RunWords({ run }: { run: CeremonyRun }) {
  return (
    <p className="flex flex-wrap items-center gap-2 text-12">
      <Lamp {...STATES[run.status]} />
      <RelativeTime at={run.startedAt} />
      {run.endedAt !== null && (
        <span className="font-mono text-muted">{duration(Math.max(0, run.endedAt - run.startedAt))}</span>
      )}
      <span className="min-w-0 break-words text-muted">{run.detail}</span>
    </p>
  );
}

export function CeremonyList() {
  const send = useSend();
  const list = useList<CeremonyView>('/api/ceremonies', ['ceremony.#', 'config.updated']);
  return (
    <List
      title="Ceremonies"
      hideTitle
      list={list}
      actions={
        <a className={buttonClass({ size: 'small' })} href={hashRoute('schedules', 'ceremonies', NEW)}>
          <Plus aria-hidden /> New ceremony
        </a>
      }
      icon={Users}
      empty={[
        'No ceremonies yet',
        'A ceremony puts one question to several agents at a set time, a stand-up for instance. Write one with New ceremony, or put a file into ceremonies/ of the workspace.',
      ]}
    >
      {(ceremony) => (
        <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
          <div className="min-w-0 flex-1 basis-60">
            <p className="flex flex-wrap items-center gap-x-3 font-medium">
              {ceremony.name}
              <Lamp {...stateLamp(ceremony.enabled ? 'on' : 'off')} />
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
    </List>
  );
}
