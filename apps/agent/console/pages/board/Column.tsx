import { Badge, Button } from '@trunkline/ui';
import { type DragEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { type Issue, type IssueState, neighbour, PRIORITIES } from './wire.ts';

interface ColumnProps {
  state: IssueState;
  title: string;
  issues: readonly Issue[];
  /** The card that gets the focus where it arrives. */
  focus: RefObject<string | null>;
  onMove(id: string, state: IssueState, byKeyboard?: boolean): void;
  onOpen(issue: Issue): void;
}

const PAGE = 30;
const STEPS: Record<string, 1 | -1> = { ArrowLeft: -1, ArrowRight: 1 };
const DRAGGED = 'application/x-trunkline-issue';

/** One state of the board; takes cards that are dropped on it. */
export function Column({ state, title, issues, focus, onMove, onOpen }: ColumnProps) {
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
        <p className="px-1 py-4 text-center text-12 text-muted">Nothing here. Drop a card.</p>
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
        aria-label={`${issue.id}: ${issue.title}. Left and right arrow keys move it.`}
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
      </button>
    </li>
  );
}
