import { Badge, hashRoute, IconButton, Lamp, RelativeTime } from '@trunkline/ui';
import { CirclePlay, Pause, Pencil, Play, Trash2 } from 'lucide-react';
import type { ScheduleView } from '../../../api-types.ts';
import { useSend, useUndoLast } from '../../shared/useList.ts';

interface ScheduleRowProps {
  schedule: ScheduleView;
  selected: boolean;
  onEdit(): void;
}

/** A schedule with its next five times. */
export function ScheduleRow({ schedule, selected, onEdit }: ScheduleRowProps) {
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
            {paused ? <Badge tone="waiting">Paused</Badge> : <Lamp state="live" word="On" />}
          </p>
          <p className="break-words">{payload.content}</p>
          <p className="flex flex-wrap gap-x-3 font-mono text-12 text-muted">
            <span>{schedule.schedule}</span>
            <span>{schedule.timezone}</span>
            <span className="break-all">{schedule.topic}</span>
          </p>
        </div>
        <div className="flex">
          <IconButton small label={`Run ${id} now`} icon={<CirclePlay aria-hidden />} onClick={act.run} />
          {paused ? (
            <IconButton small label={`Let ${id} go on`} icon={<Play aria-hidden />} onClick={act.resume} />
          ) : (
            <IconButton small label={`Pause ${id}`} icon={<Pause aria-hidden />} onClick={act.pause} />
          )}
          <IconButton small label={`Change ${id}`} icon={<Pencil aria-hidden />} onClick={onEdit} />
          <IconButton small label={`Remove ${id}`} icon={<Trash2 aria-hidden />} onClick={act.remove} />
        </div>
      </div>
      {!paused && next.length > 0 && (
        <ol
          aria-label="Next five times"
          className="flex flex-wrap gap-x-4 gap-y-1 text-12 text-muted before:content-['Next']"
        >
          {next.slice(0, 5).map((time) => (
            <li key={time}>
              <RelativeTime at={time} />
            </li>
          ))}
        </ol>
      )}
    </li>
  );
}

function useActions(id: string) {
  const send = useSend();
  const undoLast = useUndoLast();
  const path = `/api/schedules/${encodeURIComponent(id)}`;
  return {
    run: () => void send(`${path}/run-now`, { title: `${id} runs now.` }),
    pause: () => void send(`${path}/pause`, { title: `${id} is paused.` }),
    resume: () => void send(`${path}/resume`, { title: `${id} goes on.` }),
    remove: () =>
      void send(path, {
        method: 'DELETE',
        title: `${id} is removed.`,
        undo: () => undoLast('cron', id),
      }),
  };
}
