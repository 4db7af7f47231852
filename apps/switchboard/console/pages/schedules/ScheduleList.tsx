import { Button, FormDialog, ListPanel, usePages } from '@trunkline/ui';
import { AlarmClock, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Answer, ScheduleView } from '../../../api-types.ts';
import { useReloadOn } from '../../shared/live.ts';
import { useSend } from '../../shared/useList.ts';
import { EDIT_FORM, NEW_FORM, recordOf, valuesOf } from './form.ts';
import { ScheduleRow } from './ScheduleRow.tsx';

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
      <ListPanel
        title="Messages at set times"
        what="the schedules"
        list={list}
        actions={
          <Button size="small" icon={<Plus aria-hidden />} onClick={() => setEditing('new')}>
            Add a schedule
          </Button>
        }
        empty={{
          icon: <AlarmClock aria-hidden />,
          title: 'Nothing is scheduled',
          next: 'Add a schedule, or put a file into crons/ of the workspace.',
        }}
        itemKey={({ id }) => id}
      >
        {(schedule) => (
          <ScheduleRow
            schedule={schedule}
            selected={schedule.id === opened}
            onEdit={() => setEditing(schedule)}
          />
        )}
      </ListPanel>
      {editing === 'new' && (
        <FormDialog
          title="Add a schedule"
          schema={NEW_FORM}
          action="Schedule it"
          onClose={close}
          onSave={add}
        />
      )}
      {typeof editing === 'object' && (
        <FormDialog
          title={`Change ${editing.id}`}
          schema={EDIT_FORM}
          values={valuesOf(editing)}
          onClose={close}
          onSave={(values) => change(editing, values)}
        />
      )}
    </>
  );
}
