import { Badge, Button, EmptyState, FormDialog, Loaded, Panel, useResource, useSend } from '@trunkline/ui';
import { KanbanSquare, Plus } from 'lucide-react';
import { type DragEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import type { Issue } from '../../../stores/beads-store.ts';
import { useLive } from '../../app/live.ts';
import { PageFrame } from '../../shared/AgentShell.tsx';

const COLUMNS: readonly { state: IssueState; title: string }[] = [
  { state: 'open', title: 'Open' },
  { state: 'in_progress', title: 'In progress' },
  { state: 'blocked', title: 'Blocked' },
  { state: 'deferred', title: 'Deferred' },
  { state: 'closed', title: 'Closed' },
];

const PRIORITIES = ['Most urgent', 'Urgent', 'Normal', 'Low', 'Lowest'];

const FORM = {
  type: 'object',
  required: ['title', 'priority', 'issue_type'],
  properties: {
    title: { type: 'string', title: 'Title' },
    description: { type: 'string', title: 'Description', maxLength: 20_000 },
    priority: {
      title: 'Priority',
      default: 2,
      oneOf: PRIORITIES.map((title, priority) => ({ const: priority, title })),
    },
    issue_type: { title: 'Kind', default: 'task', enum: ['task', 'bug', 'feature', 'chore', 'epic'] },
  },
};

/** An issue that is there can be moved by the form too, where nothing can be dragged. */
const EDIT_FORM = {
  ...FORM,
  properties: {
    ...FORM.properties,
    status: { title: 'State', oneOf: COLUMNS.map(({ state, title }) => ({ const: state, title })) },
  },
};

const PAGE = 30;

const STEPS: Record<string, 1 | -1> = { ArrowLeft: -1, ArrowRight: 1 };

const DRAGGED = 'application/x-trunkline-issue';

const NONE: readonly Issue[] = [];

/** The task board that you and the agent share. */
export default function BoardPage() {
  const send = useSend();
  const board = useResource<{ issues: Issue[] }>('/api/beads/issues?include_closed=true');
  const [edited, setEdited] = useState<Issue | 'new' | null>(null);
  const focus = useRef<string | null>(null);
  useLive(['board'], board.reload);
  const { issues, put } = useMoves(board.body?.issues ?? NONE);
  const move = async (id: string, status: IssueState, byKeyboard = false) => {
    focus.current = byKeyboard ? id : null;
    put(id, status);
    const moved = await send(`/api/beads/issues/${id}`, { method: 'PATCH', body: { status } });
    if (!moved) put(id, undefined);
    board.reload();
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
      <Loaded resource={board} failed="The board could not be loaded." rows={8}>
        {() =>
          issues.length === 0 ? (
            <Panel title="Issues" hideTitle flush>
              <EmptyState
                icon={<KanbanSquare aria-hidden />}
                title="No issues yet"
                next="An issue is a piece of work to keep in sight. Make the first one, or ask the agent in the chat to put something on the board."
              />
            </Panel>
          ) : (
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
          )
        }
      </Loaded>
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
  const send = useSend();
  const save = (values: Readonly<Record<string, unknown>>) => {
    const body = { description: '', ...values };
    return issue === undefined
      ? send('/api/beads/issues', { body }, { title: 'It is on the board.' })
      : send(`/api/beads/issues/${issue.id}`, { method: 'PATCH', body }, { title: 'Saved.' });
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

interface ColumnProps {
  state: IssueState;
  title: string;
  issues: readonly Issue[];
  /** The card that gets the focus where it arrives. */
  focus: RefObject<string | null>;
  onMove(id: string, state: IssueState, byKeyboard?: boolean): void;
  onOpen(issue: Issue): void;
}

/** One state of the board; takes cards that are dropped on it. */
function Column({ state, title, issues, focus, onMove, onOpen }: ColumnProps) {
  const [over, setOver] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const takes = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes(DRAGGED)) return;
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const id = event.dataTransfer.getData(DRAGGED);
    if (id !== '' && !issues.some((issue) => issue.id === id)) onMove(id, state);
  };
  return (
    <section
      aria-label={title}
      onDragOver={takes}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`flex min-h-[55dvh] flex-col gap-2 rounded-corner border p-2 transition-colors ${over ? 'border-accent-strong bg-accent-wash' : 'border-line bg-sunken'}`}
    >
      <h2 className="flex items-center justify-between px-1 text-14">
        {title}
        <Badge>{issues.length}</Badge>
      </h2>
      {issues.length === 0 && (
        <p className="px-1 py-4 text-center text-12 text-muted">No issue. Drop one here.</p>
      )}
      <ul className="flex flex-col gap-2">
        {issues.slice(0, shown).map((issue) => (
          <Card key={issue.id} issue={issue} focus={focus} onMove={onMove} onOpen={() => onOpen(issue)} />
        ))}
      </ul>
      {issues.length > shown && (
        <Button size="small" onClick={() => setShown((count) => count + PAGE)}>
          Show more
        </Button>
      )}
    </section>
  );
}

interface CardProps {
  issue: Issue;
  focus: ColumnProps['focus'];
  onMove: ColumnProps['onMove'];
  onOpen(): void;
}

function Card({ issue, focus, onMove, onOpen }: CardProps) {
  const card = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (focus.current !== issue.id) return;
    focus.current = null;
    card.current?.focus();
  }, [focus, issue.id]);
  const step = (event: KeyboardEvent) => {
    const direction = STEPS[event.key];
    const target = direction === undefined ? undefined : neighbour(issue.status, direction);
    if (target === undefined) return;
    event.preventDefault();
    onMove(issue.id, target, true);
  };
  return (
    <li>
      <button
        ref={card}
        type="button"
        draggable
        onClick={onOpen}
        onKeyDown={step}
        onDragStart={(event) => {
          event.dataTransfer.setData(DRAGGED, issue.id);
          event.dataTransfer.effectAllowed = 'move';
        }}
        className="flex w-full cursor-grab flex-col gap-2 rounded-corner border border-line bg-raised p-3 text-left transition-colors hover:border-edge active:cursor-grabbing"
      >
        <span className="font-medium break-words">{issue.title}</span>
        <span className="flex flex-wrap items-center gap-1.5 text-12 text-muted">
          <span className="font-mono">{issue.id}</span>
          <Badge tone={issue.issue_type === 'bug' ? 'failed' : 'plain'}>{issue.issue_type}</Badge>
          {issue.priority < 2 && <Badge tone="accent">{PRIORITIES[issue.priority]}</Badge>}
        </span>
        <span className="sr-only">Left and right arrow keys move it.</span>
      </button>
    </li>
  );
}

type IssueState = Issue['status'];

/** The state beside another one on the board; none at the edges. */
function neighbour(state: IssueState, step: 1 | -1): IssueState | undefined {
  return COLUMNS[COLUMNS.findIndex((column) => column.state === state) + step]?.state;
}
