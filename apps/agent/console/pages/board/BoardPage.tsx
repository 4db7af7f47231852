import { Button, ErrorState, FormDialog, Skeleton, useApi, useAttempt, useResource } from '@trunkline/ui';
import { Plus } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../app/PageFrame.tsx';
import { Column } from './Column.tsx';
import { COLUMNS, EDIT_FORM, FORM, type Issue, type IssueState } from './wire.ts';

const NONE: readonly Issue[] = [];

/** The task board that you and the agent share. */
export default function BoardPage() {
  const api = useApi();
  const attempt = useAttempt();
  const { body, error, reload } = useResource<{ issues: Issue[] }>('/api/beads/issues?include_closed=true');
  const [edited, setEdited] = useState<Issue | 'new' | null>(null);
  const focus = useRef<string | null>(null);
  useLive(['board'], reload);
  const { issues, put } = useMoves(body?.issues ?? NONE);
  const move = async (id: string, status: IssueState, byKeyboard = false) => {
    focus.current = byKeyboard ? id : null;
    put(id, status);
    const path = `/api/beads/issues/${id}`;
    if (!(await attempt(() => api.request(path, { method: 'PATCH', body: { status } })))) put(id, undefined);
    reload();
  };
  return (
    <PageFrame
      wide
      title="Board"
      intro="Work to be done. Drag a card to another column, or focus it and press the left or right arrow key."
      actions={
        <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setEdited('new')}>
          New issue
        </Button>
      }
    >
      {error && <ErrorState what="The board could not be loaded." why={error.message} todo={error.advice} />}
      {body === undefined && !error && <Skeleton rows={8} />}
      {body && (
        <div className="grid auto-cols-[minmax(11rem,1fr)] grid-flow-col gap-3 overflow-x-auto pb-2">
          {COLUMNS.map(({ state, title }) => (
            <Column
              key={state}
              state={state}
              title={title}
              issues={issues.filter(({ status }) => status === state)}
              focus={focus}
              onMove={(id, status, byKeyboard) => void move(id, status, byKeyboard)}
              onOpen={setEdited}
            />
          ))}
        </div>
      )}
      {edited !== null && (
        <IssueDialog issue={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
    </PageFrame>
  );
}

// A card stands where it was put until the service says where it is.
function useMoves(known: readonly Issue[]) {
  const [moves, setMoves] = useState<Readonly<Record<string, IssueState | undefined>>>({});
  useEffect(() => {
    setMoves((before) => {
      const open = known.filter(({ id, status }) => before[id] !== undefined && before[id] !== status);
      return Object.fromEntries(open.map(({ id }) => [id, before[id]]));
    });
  }, [known]);
  return {
    issues: known.map((issue) => ({ ...issue, status: moves[issue.id] ?? issue.status })),
    put: (id: string, status: IssueState | undefined) => setMoves((before) => ({ ...before, [id]: status })),
  };
}

function IssueDialog({ issue, onClose }: { issue: Issue | undefined; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const save = (values: Readonly<Record<string, unknown>>) => {
    const body = { description: '', ...values };
    const write =
      issue === undefined
        ? () => api.request('/api/beads/issues', { body })
        : () => api.request(`/api/beads/issues/${issue.id}`, { method: 'PATCH', body });
    return attempt(write, { title: issue === undefined ? 'It is on the board.' : 'Saved.' });
  };
  return (
    <FormDialog
      title={issue === undefined ? 'New issue' : issue.id}
      schema={issue === undefined ? FORM : EDIT_FORM}
      values={issue && pick(issue)}
      action={issue === undefined ? 'Put it on the board' : 'Save'}
      onClose={onClose}
      onSave={save}
    />
  );
}

function pick({ title, description, priority, issue_type, status }: Issue) {
  return { title, description, priority, issue_type, status };
}
