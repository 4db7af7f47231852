import { SelectField, Tabs } from '@trunkline/ui';
import { useState } from 'react';
import type { FeedEvent } from '../../../activity/activity-feed.ts';
import { PageFrame } from '../../app/PageFrame.tsx';
import { ActivityList } from '../../shared/ActivityList.tsx';
import { useActivity } from '../../shared/useActivity.ts';
import { InboxPanel } from './InboxPanel.tsx';

/** What happens without anybody in a chat asking for it. */
export default function ActivityPage() {
  const [tab, setTab] = useState('feed');
  return (
    <PageFrame title="Activity" intro="What the agent does of itself, and what comes in from outside.">
      <Tabs
        label="Activity"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'feed', label: 'Feed', content: <Feed /> },
          { id: 'inbox', label: 'Inbox', content: <InboxPanel /> },
        ]}
      />
    </PageFrame>
  );
}

const KINDS: Record<string, (event: FeedEvent) => boolean> = {
  all: () => true,
  schedules: ({ event, data }) => event === 'activity.message' && data.origin === 'scheduler',
  inbox: ({ event, data }) => event === 'inbox.item' || data.origin === 'inbox',
};

function Feed() {
  const activity = useActivity();
  const [kind, setKind] = useState('all');
  return (
    <div className="flex flex-col gap-2">
      <SelectField
        className="w-56"
        label="Show"
        value={kind}
        onChange={(event) => setKind(event.target.value)}
        options={[
          { value: 'all', label: 'Everything' },
          { value: 'schedules', label: 'Schedules' },
          { value: 'inbox', label: 'Inbox' },
        ]}
      />
      <ActivityList activity={activity} {...(KINDS[kind] && { filter: KINDS[kind] })} />
    </div>
  );
}
