import {
  Button,
  browserTimezone,
  FormDialog,
  hashRoute,
  IconButton,
  type JsonSchema,
  knownTimezones,
  Lamp,
  NextTimes,
  ScheduleWords,
  scheduleFields,
  stateLamp,
  usePages,
} from '@trunkline/ui';
import { AlarmClock, CirclePlay, Pause, Pencil, Play, Plus, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Answer, ScheduleView } from '../../../api-types.ts';
import { List, useRemove } from '../../shared/blocks.tsx';
import { useReloadOn } from '../../shared/live.ts';
import { useSend } from '../../shared/useList.ts';

const AT_ONCE = 50;

export function ScheduleList({ opened }: { opened: string | undefined }) {
  const send = useSend();
  const [editing, setEditing] = useState<ScheduleView | 'new'>();
  const list = usePages<ScheduleView, Answer<{ schedules: ScheduleView[] }>>({
    key: 'schedules',
    path: (cursor) =>
      `/api/schedules?limit=${AT_ONCE}${cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`}`,
    read: ({ data: { schedules } }) => ({
      items: schedules,
      next: schedules.length < AT_ONCE ? null : (schedules.at(-1)?.id ?? null),
    }),
  });
  useReloadOn(['schedule.#', 'cron.#', 'config.updated', 'autonomous.outcome.#'], list.reload);
  // The same object while the form is open, or it would begin anew.
  const form = useMemo(
    () => (typeof editing === 'object' ? editForm(editing) : newForm(browserTimezone())),
    [editing],
  );
  const close = () => setEditing(undefined);
  const add = (values: Readonly<Record<string, unknown>>) =>
    send('/api/schedules', { title: 'Scheduled.', body: recordOf(String(values.id), values) });
  const change = (before: ScheduleView, values: Readonly<Record<string, unknown>>) =>
    send(`/api/schedules/${before.id}`, {
      method: 'PUT',
      title: `${before.id} is changed.`,
      body: recordOf(before.id, values, before),
    });
  return (
    <>
      <List
        title="Messages at set times"
        hideTitle
        what="the schedules"
        list={list}
        actions={
          <Button size="small" icon={<Plus aria-hidden />} onClick={() => setEditing('new')}>
            Add a schedule
          </Button>
        }
        icon={AlarmClock}
        empty={['Nothing is scheduled', 'Add a schedule, or put a file into crons/ of the workspace.']}
      >
        {(schedule) => (
          <ScheduleRow
            schedule={schedule}
            selected={schedule.id === opened}
            onEdit={() => setEditing(schedule)}
          />
        )}
      </List>
      {editing === 'new' && (
        <FormDialog
          title="Add a schedule"
          schema={form}
          fields={fields}
          action="Schedule it"
          onClose={close}
          onSave={add}
        />
      )}
      {typeof editing === 'object' && (
        <FormDialog
          title={`Change ${editing.id}`}
          schema={form}
          fields={fields}
          values={valuesOf(editing)}
          onClose={close}
          onSave={(values) => change(editing, values)}
        />
      )}
    </>
  );
}

type Values = Readonly<Record<string, unknown>>;

const fieldsIn = (zone: string): Record<string, JsonSchema> => ({
  schedule: { type: 'string', title: 'When', default: '0 9 * * *' },
  timezone: {
    type: 'string',
    title: 'Time zone',
    enum: [...new Set([zone, ...knownTimezones()])],
    default: zone,
    description: 'Of the times above; daylight saving time is followed.',
  },
  content: { type: 'string', title: 'What the agent reads', maxLength: 20_000 },
  topic: { type: 'string', title: 'Topic', description: 'cron. and the name when left empty.' },
  skillHint: { type: 'string', title: 'Skill', description: 'The router decides when left empty.' },
  channel: {
    type: 'string',
    title: 'Where the answer goes',
    description: 'cli, messenger, the id of a chat channel, or a2a.',
  },
  overlap: {
    title: 'If the last run is still going',
    default: 'skip',
    oneOf: [
      { const: 'skip', title: 'Skip this run' },
      { const: 'queue', title: 'Wait for the last run' },
      { const: 'allow', title: 'Run both' },
    ],
  },
});

const fields = scheduleFields('schedule', {
  path: '/api/schedules/preview',
  body: (schedule, timezone) => ({ schedule, timezone }),
  read: (answer) => (answer as Answer<{ next: string[] }>).data.next,
});

const ID: JsonSchema = {
  type: 'string',
  title: 'Name',
  pattern: '^[a-z0-9][a-z0-9.-]*$',
  description: 'Small letters, digits, - and dots.',
};

const newForm = (zone: string): JsonSchema => ({
  type: 'object',
  required: ['id', 'schedule', 'timezone', 'content'],
  properties: { id: ID, ...fieldsIn(zone) },
});

const editForm = ({ timezone }: ScheduleView): JsonSchema => ({
  type: 'object',
  required: ['schedule', 'timezone', 'content'],
  properties: fieldsIn(timezone),
});

function valuesOf({ schedule, timezone, topic, overlap, payload }: ScheduleView): Values {
  const { content, skillHint, channel } = payload;
  return { schedule, timezone, content, topic, skillHint, channel, overlap };
}

/** Fields that the form does not show stay as they were. */
function recordOf(id: string, values: Values, before?: ScheduleView): Record<string, unknown> {
  const { schedule, timezone, topic, overlap, content, skillHint, channel } = values;
  const payload = {
    ...before?.payload,
    content,
    channel: channel ?? 'cli',
    skillHint,
  };
  return {
    id,
    schedule,
    timezone,
    topic: topic ?? `cron.${id}`,
    overlap,
    payload,
    ...(before && { jitterMs: before.jitterMs, enabled: before.state === 'active' }),
  };
}

interface ScheduleRowProps {
  schedule: ScheduleView;
  selected: boolean;
  onEdit(): void;
}

function ScheduleRow({ schedule, selected, onEdit }: ScheduleRowProps) {
  const { id, payload, state, next } = schedule;
  const act = useActions(id);
  const paused = state === 'paused';
  return (
    <li
      className={`flex flex-col gap-2 border-line border-b px-4 py-3 last:border-b-0 ${selected ? 'bg-hover' : ''}`}
    >
      <div className="flex flex-wrap items-start gap-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="flex flex-wrap items-center gap-x-3">
            <a
              className="font-medium break-all underline-offset-2 hover:underline"
              href={hashRoute('schedules', 'messages', id)}
            >
              {id}
            </a>
            <Lamp {...stateLamp(paused ? 'paused' : 'on')} />
          </p>
          <p className="break-words">{payload.content}</p>
          <p className="flex flex-wrap gap-x-3 text-12 text-muted">
            <ScheduleWords schedule={schedule.schedule} timezone={schedule.timezone} next={next[0]} />
            <code className="break-all">{schedule.topic}</code>
          </p>
        </div>
        <div className="flex">
          <IconButton small label={`Run ${id} now`} icon={<CirclePlay aria-hidden />} onClick={act.run} />
          {paused ? (
            <IconButton small label={`Resume ${id}`} icon={<Play aria-hidden />} onClick={act.resume} />
          ) : (
            <IconButton small label={`Pause ${id}`} icon={<Pause aria-hidden />} onClick={act.pause} />
          )}
          <IconButton small label={`Change ${id}`} icon={<Pencil aria-hidden />} onClick={onEdit} />
          <IconButton small label={`Remove ${id}`} icon={<Trash2 aria-hidden />} onClick={act.remove} />
        </div>
      </div>
      {!paused && next.length > 0 && <NextTimes times={next.slice(0, 5)} />}
    </li>
  );
}

function useActions(id: string) {
  const send = useSend();
  const path = `/api/schedules/${encodeURIComponent(id)}`;
  const remove = useRemove(path, 'cron', id);
  return {
    run: () => void send(`${path}/run-now`, { title: `${id} runs now.` }),
    pause: () => void send(`${path}/pause`, { title: `${id} is paused.` }),
    resume: () => void send(`${path}/resume`, { title: `${id} is resumed.` }),
    remove: () => void remove(),
  };
}
