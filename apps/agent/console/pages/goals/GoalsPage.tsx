import { suggestions } from '@trunkline/std';
import { Button, FoldedText, hashRoute, Lamp, ListPanel, stateLamp, useSend } from '@trunkline/ui';
import { Flag, Trash2 } from 'lucide-react';
import type { Goal } from '../../../stores/goals/goal-store.ts';
import { useLiveList } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const STATES: Record<Goal['status'], ReturnType<typeof stateLamp>> = {
  active: stateLamp('working', 'Being worked on'),
  achieved: stateLamp('achieved'),
  exhausted: stateLamp('failed', 'Given up'),
  unachievable: stateLamp('failed', 'Cannot be reached'),
};

/** What conversations are to reach, and how far they are. */
export default function GoalsPage() {
  const list = useLiveList<Goal>('/api/goals', 'goals', ['goals', 'tasks']);
  return (
    <PageFrame
      title="Goals"
      intro="What a conversation works towards, turn after turn, until a check says it is reached."
    >
      <ListPanel
        title="Goals"
        hideTitle
        what="the goals"
        list={list}
        empty={{
          icon: <Flag aria-hidden />,
          title: 'No goals yet',
          next: `Ask in the chat for something with a clear end: "${suggestions.goOn}".`,
        }}
        itemKey={({ session_id }) => session_id}
      >
        {(goal) => <Row goal={goal} />}
      </ListPanel>
    </PageFrame>
  );
}

function Row({ goal }: { goal: Goal }) {
  const send = useSend();
  const path = `/api/goals/${encodeURIComponent(goal.session_id)}`;
  const drop = () => void send(path, { method: 'DELETE' }, { title: 'Goal dropped.' });
  return (
    <li className="flex items-start gap-3 border-line border-b px-4 py-3 [contain-intrinsic-size:auto_5rem] [content-visibility:auto] last:border-b-0">
      <div className="min-w-0 flex-1">
        <p className="line-clamp-6 font-medium break-words">{goal.condition}</p>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-muted">
          <Lamp {...STATES[goal.status]} />
          <span>checked {goal.iteration === 1 ? 'once' : `${goal.iteration} times`}</span>
          <span>
            by {goal.verifier.type} <code>{targetOf(goal.verifier)}</code>
          </span>
          <a
            className="text-accent-text underline underline-offset-2"
            href={`/${hashRoute('chat', goal.session_id)}`}
          >
            Open the conversation
          </a>
        </p>
        {(goal.reason || goal.evidence) && (
          <FoldedText
            className="mt-1 text-muted"
            text={[goal.reason, goal.evidence].filter(Boolean).join(' ')}
          />
        )}
      </div>
      <Button size="small" icon={<Trash2 aria-hidden />} onClick={drop}>
        Drop
      </Button>
    </li>
  );
}

/** The command or the file that decides; a judging model has neither. */
function targetOf(verifier: Goal['verifier']): string {
  if ('command' in verifier) return verifier.command;
  return 'path' in verifier ? verifier.path : '';
}
