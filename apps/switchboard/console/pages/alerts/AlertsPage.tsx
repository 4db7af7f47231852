import { Badge, hashRoute, RelativeTime, Tabs, useHashRoute } from '@trunkline/ui';
import { BellRing, CircleSlash2 } from 'lucide-react';
import { List } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList } from '../../shared/useList.ts';
import { MessageList, useFeed } from '../feed/MessageRow.tsx';

interface Alert {
  id: string;
  at: string;
  content: string;
  severity?: 'critical' | 'high' | 'medium' | 'low';
  /** Of messages to the operator, which are no alerts. */
  urgency?: string;
}

const TONES = { critical: 'failed', high: 'failed', medium: 'waiting', low: 'plain' } as const;

export default function AlertsPage() {
  const [, tab = 'alerts'] = useHashRoute();
  const tabs = [
    { id: 'alerts', label: 'Alerts', content: <Alerts /> },
    { id: 'drops', label: 'Drops', content: <Drops /> },
  ];
  return (
    <Frame title="Alerts" intro="What was told to the alert channel, and messages that nobody took.">
      <Tabs
        label="Alerts"
        value={tabs.some(({ id }) => id === tab) ? tab : 'alerts'}
        onChange={(id) => {
          window.location.hash = hashRoute('alerts', id);
        }}
        tabs={tabs}
      />
    </Frame>
  );
}

function Alerts() {
  const list = useList<Alert>('/api/alerts?limit=1000', ['message.outbound.chat.alert']);
  return (
    <List
      title="Alerts"
      hideTitle
      detail="At most one a minute for each source, so that a storm stays readable."
      list={list}
      icon={BellRing}
      empty={[
        'All is quiet',
        'Failures of plugins, many dropped requests in a short time, and incidents of high severity show here.',
      ]}
    >
      {({ at, urgency, severity = urgency === 'high' ? 'high' : 'medium', content }) => (
        <li className="border-line border-b px-4 py-3 last:border-b-0">
          <p className="flex items-center gap-2 text-12 text-muted">
            <Badge tone={TONES[severity]}>{severity}</Badge>
            <RelativeTime at={at} />
          </p>
          <p className="mt-1 whitespace-pre-wrap break-words">{content}</p>
        </li>
      )}
    </List>
  );
}

function Drops() {
  const { list } = useFeed({ topic: 'dispatch.dropped.#', correlationId: '' });
  return (
    <MessageList
      title="Drops"
      hideTitle
      detail="Requests that no agent took, with the reason."
      list={list}
      icon={CircleSlash2}
      empty={['Nothing was dropped', 'Try where a message would go under Routes.']}
    />
  );
}
