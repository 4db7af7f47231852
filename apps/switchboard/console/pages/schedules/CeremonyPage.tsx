import { Button, EmptyState, ErrorState, Panel, Skeleton, useResource } from '@trunkline/ui';
import { CirclePlay, Users } from 'lucide-react';
import type { Answer, CeremonyRun, CeremonyView } from '../../../api-types.ts';
import { FilePage, NEW } from '../../shared/FilePage.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { useSend } from '../../shared/useList.ts';
import { RunWords } from './RunWords.tsx';

interface Performed {
  /** Null while its file is not read yet, or cannot be used. */
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

/** One ceremony: its file, and how it went. */
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
  const { body, error, reload } = useResource<Answer<Performed>>(`${path}?limit=200`);
  useReloadOn(['ceremony.#', 'config.updated'], reload);
  return (
    <Panel
      title="Runs"
      flush
      actions={
        <Button
          size="small"
          icon={<CirclePlay aria-hidden />}
          disabled={!body?.data.ceremony}
          onClick={() => void send(`${path}/run`, { title: `${id} begins.` })}
        >
          Run now
        </Button>
      }
    >
      {body === undefined && !error && <Skeleton className="p-4" />}
      {body === undefined && error && (
        <ErrorState what="The runs could not be loaded." why={error.message} todo={error.advice} />
      )}
      {body && <RunList runs={body.data.runs} />}
    </Panel>
  );
}

function RunList({ runs }: Pick<Performed, 'runs'>) {
  if (runs.length === 0)
    return (
      <EmptyState
        icon={<Users aria-hidden />}
        title="It has not been performed yet"
        next="Run it now to see what comes of it."
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
