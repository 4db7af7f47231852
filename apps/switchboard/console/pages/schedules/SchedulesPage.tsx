import { hashRoute, Tabs, useHashRoute } from '@trunkline/ui';
import { Frame } from '../../app/Frame.tsx';
import { CeremonyList } from './CeremonyList.tsx';
import { CeremonyPage } from './CeremonyPage.tsx';
import { ScheduleHistory } from './ScheduleHistory.tsx';
import { ScheduleList } from './ScheduleList.tsx';

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
