import { hashRoute, Tabs, useHashRoute } from '@trunkline/ui';
import { Frame } from '../../app/Frame.tsx';
import { CeremonyList } from './CeremonyList.tsx';
import { ScheduleHistory } from './ScheduleHistory.tsx';
import { ScheduleList } from './ScheduleList.tsx';

/** What happens by the clock: messages, and what agents perform together. */
export default function SchedulesPage() {
  const [, tab = '', opened] = useHashRoute();
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
