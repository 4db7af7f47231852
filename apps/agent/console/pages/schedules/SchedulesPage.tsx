import { suggestions } from '@trunkline/std';
import {
  Button,
  browserTimezone,
  CopyButton,
  IconButton,
  knownTimezones,
  Lamp,
  ListPanel,
  NextTimes,
  Panel,
  ScheduleWords,
  SchemaForm,
  scheduleFields,
  stateLamp,
  useSend,
} from '@trunkline/ui';
import { CalendarClock, CirclePlay, Pause, Play, Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { ScheduledJob as Job } from '../../../scheduler/schedule-backend.ts';
import { useLiveList } from '../../app/live.ts';
import { chatAddress } from '../../chat/ChatList.tsx';
import { PageFrame } from '../../shared/AgentShell.tsx';

const formIn = (timezone: string) => ({
  type: 'object',
  required: ['prompt', 'when', 'timezone'],
  properties: {
    prompt: {
      type: 'string',
      title: 'What to do',
      maxLength: 10_000,
      description: 'In full: the agent starts with this alone, as in a new chat.',
    },
    when: { type: 'string', title: 'When', default: '0 9 * * *' },
    timezone: {
      type: 'string',
      title: 'Time zone',
      enum: knownTimezones(),
      default: timezone,
      description: 'Of the times above; daylight saving time is followed.',
    },
    job_id: { type: 'string', title: 'Name', description: 'The same name again replaces the schedule.' },
  },
});

const fields = scheduleFields('when', {
  path: '/api/scheduler/preview',
  body: (when, timezone) => ({ when, timezone }),
  read: (answer) => (answer as { upcoming: string[] }).upcoming,
});

/** Prompts that run later, once or again and again. */
export default function SchedulesPage() {
  const send = useSend();
  const [round, setRound] = useState(0);
  const form = useMemo(() => formIn(browserTimezone()), []);
  const list = useLiveList<Job>('/api/scheduler/jobs', 'jobs', ['schedules', 'config']);
  const add = async (body: Readonly<Record<string, unknown>>) => {
    if (await send('/api/scheduler/jobs', { body }, { title: 'Scheduled.' })) setRound((count) => count + 1);
  };
  return (
    <PageFrame title="Schedules" intro="What the agent does later, by the clock.">
      <div className="grid items-start gap-4 lg:grid-cols-[3fr_2fr]">
        <ListPanel
          title="Scheduled"
          what="the schedules"
          list={list}
          empty={{
            icon: <CalendarClock aria-hidden />,
            title: 'Nothing is scheduled',
            next: `Fill in the form, or say in the chat: "${suggestions.reminder}".`,
          }}
          itemKey={({ id }) => id}
        >
          {(job) => <JobRow job={job} />}
        </ListPanel>
        <Panel title="Schedule something">
          <SchemaForm
            key={round}
            schema={form}
            fields={fields}
            onSubmit={(values) => void add(values)}
            actions={
              <Button type="submit" variant="primary">
                Schedule it
              </Button>
            }
          />
        </Panel>
      </div>
    </PageFrame>
  );
}

function JobRow({ job }: { job: Job }) {
  const act = useJobActions(job);
  return (
    <li className="flex flex-col gap-2 border-line border-b px-4 py-3 [contain-intrinsic-size:auto_6rem] [content-visibility:auto] last:border-b-0">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <p className="font-medium break-words">{job.prompt}</p>
          <p className="flex flex-wrap items-center gap-2 text-12 text-muted">
            <State job={job} />
            <ScheduleWords schedule={job.schedule} timezone={job.timezone} next={job.upcoming[0]} />
            <CopyButton value={job.id} label="Copy the schedule's id" />
            {job.session_id !== undefined && (
              <a
                href={`/${chatAddress(job.session_id)}`}
                className="text-accent-text underline underline-offset-2"
              >
                Open its chat
              </a>
            )}
          </p>
        </div>
        <div className="flex">
          <IconButton small label="Run now" icon={<CirclePlay aria-hidden />} onClick={act.run} />
          {job.paused ? (
            <IconButton small label="Resume" icon={<Play aria-hidden />} onClick={act.resume} />
          ) : (
            <IconButton small label="Pause" icon={<Pause aria-hidden />} onClick={act.pause} />
          )}
          <IconButton small label="Cancel the schedule" icon={<Trash2 aria-hidden />} onClick={act.cancel} />
        </div>
      </div>
      {!job.paused && job.upcoming.length > 0 && <NextTimes times={job.upcoming} />}
    </li>
  );
}

function State({ job }: { job: Job }) {
  if (job.running) return <Lamp {...stateLamp('running')} />;
  return <Lamp {...stateLamp(job.paused ? 'paused' : 'scheduled')} />;
}

function useJobActions({ id, prompt, schedule, timezone, session_id }: Job) {
  const send = useSend();
  const path = `/api/scheduler/jobs/${encodeURIComponent(id)}`;
  const post = (action: string, title: string) => () =>
    void send(`${path}/${action}`, { method: 'POST' }, { title });
  const undo = () =>
    void send('/api/scheduler/jobs', { body: { prompt, when: schedule, timezone, job_id: id, session_id } });
  return {
    run: post('run', 'Running now. See Activity for the result.'),
    pause: post('pause', 'Paused.'),
    resume: post('resume', 'It goes on.'),
    cancel: () => void send(path, { method: 'DELETE' }, { title: 'Schedule cancelled.', undo }),
  };
}
