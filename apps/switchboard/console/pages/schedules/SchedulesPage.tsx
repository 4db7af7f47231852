import {
  duration,
  EmptyState,
  hashRoute,
  Inspector,
  Lamp,
  RelativeTime,
  stateLamp,
  Tabs,
  useHashRoute,
  useResource,
} from '@trunkline/ui';
import type { Answer, FireRow } from '../../../api-types.ts';
import { Loaded } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { CeremonyList, CeremonyPage } from './CeremonyPage.tsx';
import { ScheduleList } from './ScheduleList.tsx';

const STATES = {
  done: stateLamp('done'),
  fired: stateLamp('running'),
  failed: stateLamp('failed'),
  missed: stateLamp('missed'),
  skipped: stateLamp('skipped'),
  unknown: stateLamp('unknown'),
};

export default function SchedulesPage() {
  const [, tab = '', opened] = useHashRoute();
  if (tab === 'ceremonies' && opened !== undefined) return <CeremonyPage key={opened} id={opened} />;
  return <Lists tab={tab} opened={opened} />;
}

function Lists({ tab, opened }: { tab: string; opened: string | undefined }) {
  const shown = tab === 'messages' ? opened : undefined;
  const goTo = (...parts: string[]) => {
    window.location.hash = hashRoute('schedules', ...parts);
  };
  return (
    <Frame
      title="Schedules"
      intro="Messages at set times, and ceremonies that agents perform."
      inspector={
        <Inspector open={shown !== undefined} onClose={() => goTo('messages')} title={shown ?? 'Schedule'}>
          {shown !== undefined && <History key={shown} id={shown} />}
        </Inspector>
      }
    >
      <Tabs
        label="Schedules"
        value={tab === 'ceremonies' ? tab : 'messages'}
        onChange={goTo}
        tabs={[
          { id: 'messages', label: 'Messages', content: <ScheduleList opened={opened} /> },
          { id: 'ceremonies', label: 'Ceremonies', content: <CeremonyList /> },
        ]}
      />
    </Frame>
  );
}

/** What a schedule did, beside the list. */
function History({ id }: { id: string }) {
  const resource = useResource<Answer<{ history: FireRow[] }>>(
    `/api/schedules/${encodeURIComponent(id)}?limit=200`,
  );
  useReloadOn(['cron.#', 'schedule.#', 'autonomous.outcome.#'], resource.reload);
  return (
    <Loaded resource={resource} what="The history" rows={6}>
      {({ history }) => <FireList history={history} />}
    </Loaded>
  );
}

function FireList({ history }: { history: readonly FireRow[] }) {
  if (history.length === 0)
    return <EmptyState title="It has not run yet" next="Run it now to see the result." />;
  return (
    <ol aria-label="History" className="flex flex-col">
      {history.map((fire) => (
        <li
          key={fire.fireId}
          className="border-line border-b py-2 [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0"
        >
          <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
            <Lamp {...STATES[fire.status]} />
            <RelativeTime at={fire.firedAt} />
            {fire.manual && <span>by hand</span>}
            {fire.endedAt !== null && (
              <span className="font-mono">{duration(Math.max(0, fire.endedAt - fire.firedAt))}</span>
            )}
          </p>
          {fire.detail && <p className="break-words">{fire.detail}</p>}
        </li>
      ))}
    </ol>
  );
}
