import { buttonClass, hashRoute, ListPanel } from '@trunkline/ui';
import { Radio } from 'lucide-react';
import { MessageRow } from '../feed/MessageRow.tsx';
import { useFeed } from '../feed/useFeed.ts';

const SHOWN = 8;

/** The last messages that passed, under the map. */
export function Latest() {
  const { list } = useFeed({ topic: '', correlationId: '' });
  return (
    <ListPanel
      title="Passing now"
      what="the messages"
      list={{ ...list, items: list.items?.slice(0, SHOWN), hasMore: false }}
      actions={
        <a className={buttonClass({ size: 'small' })} href={hashRoute('feed')}>
          Open the feed
        </a>
      }
      empty={{
        icon: <Radio aria-hidden />,
        title: 'Nothing has passed yet',
        next: 'Send a message to an agent under Agents, and watch its way light up.',
      }}
      itemKey={({ id }) => id}
    >
      {(message) => <MessageRow message={message} />}
    </ListPanel>
  );
}
