import {
  duration,
  hashRoute,
  Lamp,
  Line,
  RelativeTime,
  SelectField,
  useHashRoute,
  usePages,
} from '@trunkline/ui';
import { Route } from 'lucide-react';
import { useState } from 'react';
import type { Flow } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { Frame } from '../../shared/sections.tsx';
import { FlowPage, lampOf, titleOf, workOf } from './FlowPage.tsx';

const AT_ONCE = 50;
const FILTERS = [
  { value: '', label: 'All states' },
  { value: 'active', label: 'Under way' },
  { value: 'blocked', label: 'Waits for a person' },
  { value: 'complete', label: 'Over' },
];

export default function FlowsPage() {
  const [, opened] = useHashRoute();
  return opened === undefined ? <FlowList /> : <FlowPage key={opened} id={opened} />;
}

function FlowList() {
  const [status, setStatus] = useState('');
  const query = `limit=${AT_ONCE}${status === '' ? '' : `&status=${status}`}`;
  const list = usePages<Flow, { flows: Flow[]; next: number | null; incomplete?: boolean }>({
    key: query,
    path: (cursor) => `/api/flows?${query}&offset=${cursor ?? 0}`,
    read: ({ flows, next, incomplete }) => ({ items: flows, next, incomplete }),
  });
  useReloadOn(['flow.item.#'], list.reload);
  return (
    <Frame
      title="Flows"
      intro="Each request for a skill, from the message to the answer. Flows are kept for seven days."
      actions={
        <SelectField
          className="w-48"
          label="State"
          options={FILTERS}
          value={status}
          onChange={(event) => setStatus(event.target.value)}
        />
      }
    >
      <List
        title="Flows"
        hideTitle
        list={list}
        icon={Route}
        empty={[
          status === '' ? 'No flows yet' : 'No flow is in this state',
          status === '' ? 'Send a message to an agent under Agents.' : 'Choose another state.',
        ]}
      >
        {(flow) => <FlowLine flow={flow} />}
      </List>
    </Frame>
  );
}

function FlowLine({ flow }: { flow: Flow }) {
  const lamp = lampOf(flow);
  const detail = detailOf(flow);
  return (
    <Line
      title={titleOf(flow)}
      href={hashRoute('flows', flow.id)}
      lit={flow.stage === 'running' && flow.status === 'active'}
      lead={<Lamp {...lamp} className="w-24 sm:w-28" />}
      detail={detail !== '' && <span className="block truncate">{detail}</span>}
      trail={
        <>
          {flow.durationMs !== null && (
            <span className="hidden font-mono sm:inline">{duration(flow.durationMs)}</span>
          )}
          <RelativeTime at={flow.createdAt} />
        </>
      }
    />
  );
}

function detailOf(flow: Flow): string {
  const about = flow.requestPreview === null ? [] : [workOf(flow)];
  return [...about, ...(flow.errorPreview === null ? [] : [flow.errorPreview])].join(' · ');
}
