import { ListPanel } from '@trunkline/ui';
import { Radio } from 'lucide-react';
import { MessageRow } from '../feed/MessageRow.tsx';
import { useFeed } from '../feed/useFeed.ts';

/** The messages that belong to a flow. */
export function FlowMessages({ correlationId }: { correlationId: string }) {
  const { list } = useFeed({ topic: '', correlationId });
  return (
    <ListPanel
      title="Messages"
      detail="Of the same correlation, the newest first."
      what="the messages"
      list={list}
      empty={{
        icon: <Radio aria-hidden />,
        title: 'No messages are left',
        next: 'The journal keeps them for seven days.',
      }}
      itemKey={({ id }) => id}
    >
      {(message) => <MessageRow message={message} />}
    </ListPanel>
  );
}
