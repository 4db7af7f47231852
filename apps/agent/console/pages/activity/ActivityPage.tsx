import {
  Badge,
  Button,
  ListPanel,
  Panel,
  RelativeTime,
  SchemaForm,
  SelectField,
  Tabs,
  useSend,
} from '@trunkline/ui';
import { Check, Inbox } from 'lucide-react';
import { useState } from 'react';
import type { FeedEvent } from '../../../activity/activity-feed.ts';
import type { InboxItem } from '../../../stores/inbox-store.ts';
import { useLiveList } from '../../app/live.ts';
import { ActivityList, useActivity } from '../../shared/ActivityList.tsx';
import { PageFrame } from '../../shared/AgentShell.tsx';

const FORM = {
  type: 'object',
  required: ['text', 'priority'],
  properties: {
    text: { type: 'string', title: 'Message', maxLength: 20_000 },
    priority: {
      title: 'How urgent',
      default: 'next',
      oneOf: [
        { const: 'now', title: 'Now: starts a turn' },
        { const: 'next', title: 'Next: when the agent looks' },
        { const: 'later', title: 'Later' },
      ],
    },
  },
};

/** What happens without anybody in a chat asking for it. */
export default function ActivityPage() {
  const [tab, setTab] = useState('feed');
  return (
    <PageFrame title="Activity" intro="What the agent does on its own, and what comes in from outside.">
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

/** What waits for the agent, and a way to put something there. */
function InboxPanel() {
  const send = useSend();
  const [round, setRound] = useState(0);
  const path = '/api/inbox?include_delivered=true&limit=50';
  const list = useLiveList<InboxItem>(path, 'items', ['inbox', 'tasks'], 'after');
  const add = async (values: Readonly<Record<string, unknown>>) => {
    const body = { ...values, source: 'console' };
    if (await send('/api/inbox', { body }, { title: 'It is in the inbox.' })) setRound((count) => count + 1);
  };
  const deliver = ({ id }: InboxItem) => void send(`/api/inbox/${id}/deliver`, { method: 'POST' });
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
      <ListPanel
        title="In the inbox"
        what="the inbox"
        list={list}
        empty={{
          icon: <Inbox aria-hidden />,
          title: 'The inbox is empty',
          next: 'Programs put messages here with POST /api/inbox; you can with the form.',
        }}
        itemKey={({ id }) => id}
      >
        {(item) => <Row item={item} onDeliver={() => deliver(item)} />}
      </ListPanel>
      <Panel title="Put something there">
        <SchemaForm
          key={round}
          schema={FORM}
          onSubmit={(values) => void add(values)}
          actions={
            <Button type="submit" variant="primary">
              Put it into the inbox
            </Button>
          }
        />
      </Panel>
    </div>
  );
}

function Row({ item, onDeliver }: { item: InboxItem; onDeliver(): void }) {
  const waits = item.delivered_at === null;
  return (
    <li className="flex items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1">
        <p className="whitespace-pre-wrap break-words">{item.text}</p>
        <p className="mt-1 flex flex-wrap items-center gap-2 text-12 text-muted">
          <Badge tone={waits ? 'waiting' : 'plain'}>{waits ? `Waits: ${item.priority}` : 'Delivered'}</Badge>
          {item.source && <span className="font-mono">{item.source}</span>}
          <RelativeTime at={item.created_at} />
        </p>
      </div>
      {waits && (
        <Button size="small" icon={<Check aria-hidden />} onClick={onDeliver}>
          Mark as read
        </Button>
      )}
    </li>
  );
}
