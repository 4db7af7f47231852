import {
  Button,
  CopyButton,
  countOf,
  dollars,
  duration,
  EmptyState,
  Lamp,
  Loaded,
  MarkdownView,
  PagedItems,
  RelativeTime,
  stateLamp,
  Tabs,
  useApi,
  useResource,
  useSend,
} from '@trunkline/ui';
import { Square } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useLive, useLiveList } from '../../app/live.ts';
import { QuestionCard } from '../../chat/QuestionCard.tsx';
import {
  type Delivery,
  deniedText,
  isOpen,
  originWord,
  STATES,
  type TaskEvent,
  type TaskPart,
  type TaskSummary,
} from '../../chat/wire.ts';

/** One task: request, result, events and deliveries. */
export function TaskDetail({ id }: { id: string }) {
  const path = `/api/tasks/${encodeURIComponent(id)}`;
  const resource = useResource<{ task: TaskSummary }>(path);
  useLive(['tasks'], resource.reload);
  return (
    <Loaded resource={resource} failed="The task could not be loaded.">
      {({ task }) => <Details task={task} path={path} reload={resource.reload} />}
    </Loaded>
  );
}

function Details({ task, path, reload }: { task: TaskSummary; path: string; reload(): void }) {
  const api = useApi();
  const send = useSend();
  const [tab, setTab] = useState('events');
  const lamp = STATES[task.state];
  const stop = () => void send(`${path}/cancel`, { method: 'POST' }, { title: 'Task stopped.' });
  const answer = async (text: string) => {
    await api.request(`${path}/answer`, { body: { text } });
    reload();
  };
  return (
    <div className="flex flex-col gap-4">
      <div className="flex items-center justify-between gap-2">
        <Lamp state={lamp.state} word={[lamp.word, deniedText(task)].filter(Boolean).join(', ')} />
        {isOpen(task) && (
          <Button size="small" icon={<Square aria-hidden />} onClick={stop}>
            Stop the task
          </Button>
        )}
      </div>
      <Facts task={task} />
      <Part title="Asked">
        <p className="whitespace-pre-wrap break-words">{task.asked}</p>
      </Part>
      {task.state === 'input-required' && task.question && (
        <QuestionCard
          question={{ kind: 'question', text: task.question.text, schema: task.question.schema ?? null }}
          onAnswer={answer}
        />
      )}
      {task.text !== '' && task.state !== 'input-required' && (
        <Part title={task.state === 'completed' ? 'Answer' : 'Says'}>
          <MarkdownView text={task.text} className="text-14" />
        </Part>
      )}
      <Tabs
        label="What happened"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'events', label: 'Events', content: <EventLog path={path} /> },
          { id: 'webhooks', label: 'Webhooks', content: <Deliveries path={path} /> },
        ]}
      />
    </div>
  );
}

function Facts({ task }: { task: TaskSummary }) {
  const { usage, duration_ms } = task;
  const facts: [string, ReactNode][] = [
    ['Id', <Id key="id" value={task.id} label="Copy the task id" />],
    ['Context', <Id key="context" value={task.context_id} label="Copy the context id" />],
    ['From', originWord(task.origin)],
    [
      'Tokens',
      usage
        ? `${usage.estimated ? '≈ ' : ''}${countOf(usage.inputTokens)} in, ${countOf(usage.outputTokens)} out`
        : 'not known yet',
    ],
    ['Cost', usage?.costUsd === undefined ? 'not known' : dollars(usage.costUsd)],
    ['Time', duration_ms === null ? 'not known yet' : duration(duration_ms)],
  ];
  return (
    <dl className="flex flex-col gap-1 text-12">
      {facts.map(([name, value]) => (
        <div key={name} className="flex items-center justify-between gap-4">
          <dt className="text-muted">{name}</dt>
          <dd className="flex min-w-0 items-center font-mono">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Id({ value, label }: { value: string; label: string }) {
  return (
    <>
      <span className="truncate">{value}</span>
      <CopyButton value={value} label={label} />
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="pb-1 font-medium text-12 text-muted">{title}</h3>
      {children}
    </section>
  );
}

/** Everything that happened to a task, in its order. */
function EventLog({ path }: { path: string }) {
  const list = useLiveList<TaskEvent>(`${path}/events?limit=100`, 'events', ['tasks'], 'after');
  return (
    <PagedItems
      list={list}
      failed="The events could not be loaded."
      empty={<EmptyState title="Nothing yet" next="Events show here as they happen." />}
    >
      {(events) => (
        <ol className="flex flex-col font-mono text-12">
          {events.map((event) => (
            <li
              key={event.sequence}
              className="flex gap-3 border-line border-b py-1.5 [contain-intrinsic-size:auto_2rem] [content-visibility:auto] last:border-b-0"
            >
              <span className="w-8 shrink-0 text-right text-muted">{event.sequence}</span>
              <span className="min-w-0 flex-1 break-words whitespace-pre-wrap">{eventText(event)}</span>
            </li>
          ))}
        </ol>
      )}
    </PagedItems>
  );
}

function eventText(event: TaskEvent): string {
  if (event.type === 'status')
    return [event.state, partsText(event.message?.parts)].filter(Boolean).join(': ');
  if (event.type === 'message') return `message: ${partsText(event.message.parts)}`;
  const { artifactId, name, parts } = event.artifact;
  const [first] = parts;
  const data = first?.type === 'data' ? first.data : '';
  return `${name ?? artifactId}: ${partsText(parts) || JSON.stringify(data)}`;
}

function partsText(parts: readonly TaskPart[] = []): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

/** Each attempt to tell a webhook of a task. */
function Deliveries({ path }: { path: string }) {
  const list = useLiveList<Delivery>(`${path}/deliveries`, 'deliveries', ['tasks']);
  return (
    <PagedItems
      list={list}
      failed="The deliveries could not be loaded."
      empty={
        <EmptyState
          title="No deliveries yet"
          next="Register one with tasks/pushNotificationConfig/set; each attempt shows here."
        />
      }
    >
      {(deliveries) => (
        <ol className="flex flex-col text-12">
          {deliveries.map((delivery) => (
            <li
              key={`${delivery.configId} ${delivery.at}`}
              className="border-line border-b py-2 last:border-b-0"
            >
              <p className="flex flex-wrap items-center gap-2">
                <Lamp
                  {...stateLamp(delivery.outcome === 'delivered' ? 'delivered' : 'failed', delivery.outcome)}
                />
                <span>{STATES[delivery.state].word}</span>
                <span className="text-muted">attempt {delivery.attempt}</span>
                {delivery.status !== undefined && <span className="font-mono">{delivery.status}</span>}
                <RelativeTime at={delivery.at} />
              </p>
              {delivery.reason && <p className="text-muted">{delivery.reason}</p>}
            </li>
          ))}
        </ol>
      )}
    </PagedItems>
  );
}
