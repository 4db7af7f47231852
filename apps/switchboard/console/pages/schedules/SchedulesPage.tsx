import {
  Badge,
  duration,
  EmptyState,
  ErrorState,
  hashRoute,
  Inspector,
  RelativeTime,
  Skeleton,
  Tabs,
  useHashRoute,
  useResource,
} from '@trunkline/ui';
import type { Answer, FireRow, ScheduleView } from '../../../api-types.ts';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { CeremonyList, CeremonyPage } from './CeremonyPage.tsx';
import { ScheduleList } from './ScheduleList.tsx';

const TONES = {
  done: 'live',
  fired: 'waiting',
  failed: 'failed',
  missed: 'failed',
  skipped: 'plain',
  unknown: 'plain',
} as const;

/** What happens by the clock: messages, and what agents perform together. */
export default function SchedulesPage() {
  const [, tab = '', opened] = useHashRoute();
  if (tab === 'ceremonies' && opened !== undefined) return <CeremonyPage key={opened} id={opened} />;
  return <Lists tab={tab} opened={opened} />;
}

function Lists({ tab, opened }: { tab: string; opened: string | undefined }) {
  const goTo = (...parts: string[]) => {
    window.location.hash = hashRoute('schedules', ...parts);
  };
  return (
    <Frame
      title="Schedules"
      intro="Messages at set times, and ceremonies that agents perform."
      inspector={
        <ScheduleHistory id={tab === 'messages' ? opened : undefined} onClose={() => goTo('messages')} />
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
function ScheduleHistory({ id, onClose }: { id: string | undefined; onClose(): void }) {
  return (
    <Inspector open={id !== undefined} onClose={onClose} title={id ?? 'Schedule'}>
      {id !== undefined && <History key={id} id={id} />}
    </Inspector>
  );
}

function History({ id }: { id: string }) {
  const { body, error, reload } = useResource<Answer<{ schedule: ScheduleView | null; history: FireRow[] }>>(
    `/api/schedules/${encodeURIComponent(id)}?limit=200`,
  );
  useReloadOn(['cron.#', 'schedule.#', 'autonomous.outcome.#'], reload);
  if (error && !body)
    return <ErrorState what="The history could not be loaded." why={error.message} todo={error.advice} />;
  if (body === undefined) return <Skeleton rows={6} />;
  const { history } = body.data;
  if (history.length === 0)
    return <EmptyState title="It has not fired yet" next="Run it now to see what comes of it." />;
  return (
    <ol aria-label="History" className="flex flex-col">
      {history.map((fire) => (
        <li
          key={fire.fireId}
          className="border-line border-b py-2 [contain-intrinsic-size:auto_3rem] [content-visibility:auto] last:border-b-0"
        >
          <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
            <Badge tone={TONES[fire.status]}>{fire.status}</Badge>
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
