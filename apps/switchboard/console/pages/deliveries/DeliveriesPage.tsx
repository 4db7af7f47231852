import {
  Badge,
  Button,
  hashRoute,
  Lamp,
  RelativeTime,
  SelectField,
  stateLamp,
  Tabs,
  useHashRoute,
} from '@trunkline/ui';
import { MailCheck, MailWarning, RotateCcw } from 'lucide-react';
import { useState } from 'react';
import type { DeadLetter, Delivery } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList, useSend } from '../../shared/useList.ts';
import { MessageRow } from '../feed/MessageRow.tsx';

export default function DeliveriesPage() {
  const [, tab = 'outside'] = useHashRoute();
  return (
    <Frame title="Deliveries" intro="What goes out to surfaces, and messages that no handler could take.">
      <Tabs
        label="Deliveries"
        value={tab === 'dead-letters' ? tab : 'outside'}
        onChange={(id) => {
          window.location.hash = hashRoute('deliveries', id);
        }}
        tabs={[
          { id: 'outside', label: 'To the outside', content: <Outside /> },
          { id: 'dead-letters', label: 'Dead letters', content: <DeadLetters /> },
        ]}
      />
    </Frame>
  );
}

const STATES = [
  { value: 'failed', label: 'Failed' },
  { value: 'queued', label: 'Waiting' },
  { value: 'sent', label: 'Sent' },
];
const LAMPS = {
  failed: stateLamp('failed'),
  queued: stateLamp('queued', 'Queued'),
  sent: stateLamp('delivered', 'Sent'),
};

function Outside() {
  const send = useSend();
  const [state, setState] = useState('failed');
  const list = useList<Delivery, { deliveries: Delivery[] }>(
    `/api/deliveries?limit=1000&state=${state}`,
    ['delivery.#', 'message.outbound.#'],
    ({ deliveries }) => deliveries,
  );
  const replay = async ({ id }: Delivery) => {
    if (await send(`/api/deliveries/${encodeURIComponent(id)}/replay`, { title: 'Retrying.' })) list.reload();
  };
  return (
    <div className="flex flex-col gap-4">
      <SelectField
        className="w-44"
        label="Show"
        options={STATES}
        value={state}
        onChange={(event) => setState(event.target.value)}
      />
      <List
        title="Messages to the outside"
        hideTitle
        what="the deliveries"
        list={list}
        icon={MailCheck}
        empty={[
          state === 'failed' ? 'Nothing has failed' : 'Nothing here',
          state === 'failed'
            ? 'What a surface cannot deliver shows here, with the reason and a way to try again.'
            : 'Set up a surface to send messages to people; Plugins says which variables are missing.',
        ]}
      >
        {(delivery) => (
          <li className="flex flex-wrap items-start gap-3 border-line border-b px-4 py-3 last:border-b-0">
            <div className="min-w-0 flex-1 basis-64">
              <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
                <Lamp {...LAMPS[delivery.state]} />
                <span>{delivery.surface}</span>
                <span>
                  {delivery.attempts} {delivery.attempts === 1 ? 'attempt' : 'attempts'}
                </span>
                <RelativeTime at={delivery.updatedAt} />
              </p>
              <a
                className="text-12 text-accent-text underline underline-offset-2"
                href={hashRoute('feed', delivery.topic, delivery.correlationId)}
              >
                Its messages
              </a>
              {delivery.error && <p className="break-words text-failed-text">{delivery.error}</p>}
            </div>
            {delivery.state === 'failed' && (
              <Button size="small" icon={<RotateCcw aria-hidden />} onClick={() => void replay(delivery)}>
                Try again
              </Button>
            )}
          </li>
        )}
      </List>
    </div>
  );
}

function DeadLetters() {
  const send = useSend();
  const list = useList<DeadLetter, { letters: DeadLetter[] }>(
    '/api/dead-letters',
    ['system.error'],
    ({ letters }) => letters,
  );
  const replay = async ({ id }: DeadLetter) => {
    const path = `/api/dead-letters/${encodeURIComponent(id)}/replay`;
    if (await send(path, { title: 'Retrying.' })) list.reload();
  };
  return (
    <List
      title="Dead letters"
      hideTitle
      list={list}
      icon={MailWarning}
      empty={[
        'No dead letters',
        'A message that its handler failed on every time is kept here, to be tried again once the cause is mended.',
      ]}
    >
      {(letter) => (
        <li className="border-line border-b last:border-b-0">
          <div className="flex flex-wrap items-start gap-3 px-4 pt-3">
            <div className="min-w-0 flex-1 basis-64">
              <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
                <Badge tone="failed">{letter.durable}</Badge>
                <span>{letter.attempts} attempts</span>
                <RelativeTime at={letter.buriedAt} />
              </p>
              <p className="break-words text-failed-text">{letter.error}</p>
            </div>
            <Button size="small" icon={<RotateCcw aria-hidden />} onClick={() => void replay(letter)}>
              Try again
            </Button>
          </div>
          <ul>
            <MessageRow message={letter.message} />
          </ul>
        </li>
      )}
    </List>
  );
}
