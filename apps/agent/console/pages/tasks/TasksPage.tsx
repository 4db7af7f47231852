import {
  countOf,
  hashRoute,
  Inspector,
  Lamp,
  Line,
  ListPanel,
  RelativeTime,
  SelectField,
  Skeleton,
  useHashRoute,
} from '@trunkline/ui';
import { ListChecks } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useLiveList } from '../../app/live.ts';
import { deniedText, originWord, STATES, type TaskSummary } from '../../chat/wire.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const FILTERS = [
  { value: '', label: 'All states' },
  ...Object.entries(STATES).map(([value, { word }]) => ({ value, label: word })),
];

/** All tasks of the last day, whoever gave them. */
export default function TasksPage() {
  const [, opened] = useHashRoute();
  const [state, setState] = useState('');
  const path = `/api/tasks?limit=50${state === '' ? '' : `&state=${state}`}`;
  const list = useLiveList<TaskSummary>(path, 'tasks', ['tasks'], 'page');
  const close = () => {
    window.location.hash = hashRoute('tasks');
  };
  return (
    <PageFrame
      title="Tasks"
      intro="What people, schedules and other agents asked for. Tasks are kept for a day."
      actions={
        <SelectField
          className="w-44"
          label="State"
          options={FILTERS}
          value={state}
          onChange={(event) => setState(event.target.value)}
        />
      }
      inspector={
        <Inspector open={opened !== undefined} onClose={close} title="Task">
          <Suspense fallback={<Skeleton rows={6} />}>
            {opened !== undefined && <TaskDetail key={opened} id={opened} />}
          </Suspense>
        </Inspector>
      }
    >
      <ListPanel
        title="Tasks"
        hideTitle
        what="the tasks"
        list={list}
        empty={{
          icon: <ListChecks aria-hidden />,
          title: state === '' ? 'No tasks yet' : 'No task is in this state',
          next:
            state === ''
              ? 'Ask for something in the chat, or send a message over A2A.'
              : 'Choose another state.',
        }}
        itemKey={({ id }) => id}
      >
        {(task) => <TaskLine task={task} selected={task.id === opened} />}
      </ListPanel>
    </PageFrame>
  );
}

// Loaded when a task is opened.
const TaskDetail = lazy(async () => ({ default: (await import('./TaskDetail.tsx')).TaskDetail }));

function TaskLine({ task, selected }: { task: TaskSummary; selected: boolean }) {
  const lamp = STATES[task.state];
  return (
    <Line
      title={task.asked || '(no text)'}
      href={hashRoute('tasks', task.id)}
      lit={task.state === 'working'}
      selected={selected}
      lead={<Lamp {...lamp} className="w-20 sm:w-24" />}
      detail={
        <span className="block truncate">{[deniedText(task), task.text].filter(Boolean).join(' · ')}</span>
      }
      trail={
        <>
          <span className="hidden sm:inline">{originWord(task.origin)}</span>
          {task.usage && (
            <span className="hidden font-mono lg:inline">
              {task.usage.estimated && '≈ '}
              {countOf(task.usage.totalTokens)} tokens
            </span>
          )}
          <RelativeTime at={task.updated_at} />
        </>
      }
    />
  );
}
