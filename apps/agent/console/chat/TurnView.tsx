import {
  Badge,
  Button,
  CodeView,
  CopyButton,
  countOf,
  dollars,
  duration,
  ErrorState,
  IconButton,
  Lamp,
  type LampState,
  MarkdownView,
  plural,
  RelativeTime,
  stateLamp,
  Thoughts,
  useAttempt,
} from '@trunkline/ui';
import { CalendarClock, ChevronLeft, ChevronRight, Pencil, RefreshCw } from 'lucide-react';
import { type KeyboardEvent, lazy, memo, Suspense, useEffect, useRef, useState } from 'react';
import { FileView, Said, Sources } from './ChatFiles.tsx';
import { type Entry, isParked, type ToolEntry, type Turn } from './wire.ts';

interface TurnViewProps {
  turn: Turn;
  onAnswer(text: string): Promise<void>;
  /** The branches that stand beside each other here, its own among them. */
  beside: readonly string[] | undefined;
  editing: boolean;
  /** Nothing runs: a branch may be begun. */
  idle: boolean;
  actions: TurnActions;
}

export interface TurnActions {
  /** Undefined ends it. */
  beginEdit(taskId: string | undefined): void;
  /** Rejects with an ApiError. */
  edit(turn: Turn, text: string): Promise<void>;
  regenerate(turn: Turn): void;
  step(turn: Turn, by: number): void;
}

/** What was said and done in one turn. */
export const TurnView = memo(function TurnView(props: TurnViewProps) {
  const { turn, onAnswer, beside, editing, idle, actions } = props;
  const [asked, ...rest] = turn.entries;
  const isAsked = asked?.kind === 'user';
  const isRun = turn.schedule !== undefined;
  const blocks = blocksOf(isAsked ? rest : turn.entries);
  const last = blocks.at(-1);
  const working = turn.state === 'working';
  return (
    <article aria-label="Turn" aria-busy={working} data-task={turn.task_id} className="flex flex-col gap-4">
      {isAsked && editing && (
        <EditMessage
          text={asked.text}
          onSave={(text) => actions.edit(turn, text)}
          onCancel={() => actions.beginEdit(undefined)}
        />
      )}
      {isAsked && isRun && <DueSchedule at={turn.created_at} prompt={asked.text} />}
      {isAsked && !isRun && !editing && (
        <div className="flex flex-col items-end gap-1">
          <Said {...asked} />
          <div className="flex items-center gap-1 text-12 text-muted">
            <Versions turn={turn} beside={beside} onStep={actions.step} />
            <IconButton
              small
              label="Edit the message"
              icon={<Pencil aria-hidden />}
              disabled={!idle}
              onClick={() => actions.beginEdit(turn.task_id)}
            />
          </div>
        </div>
      )}
      {blocks.map((block, index) => (
        <Block
          // biome-ignore lint/suspicious/noArrayIndexKey: entries only follow each other, none moves
          key={index}
          block={block}
          live={working}
          last={block === last}
          parked={isParked(turn)}
          onAnswer={onAnswer}
          onRetry={turn.state === 'failed' && !isRun ? () => actions.regenerate(turn) : undefined}
          idle={idle}
        />
      ))}
      {working && !['text', 'tools', 'reasoning'].includes(last?.kind ?? '') && (
        <Lamp state="waiting" word="Thinking" />
      )}
      {turn.state === 'canceled' && <Lamp state="idle" word="Stopped" />}
      <TurnFooter turn={turn} idle={idle} onRegenerate={actions.regenerate} />
    </article>
  );
});

// Forms are loaded with the first question.
const QuestionCard = lazy(async () => ({ default: (await import('./QuestionCard.tsx')).QuestionCard }));

type Block = Exclude<Entry, ToolEntry> | { kind: 'tools'; tools: ToolEntry[] };

// Tools that follow each other share one timeline.
function blocksOf(entries: readonly Entry[]): Block[] {
  const blocks: Block[] = [];
  for (const entry of entries) {
    const last = blocks.at(-1);
    if (entry.kind !== 'tool') blocks.push(entry);
    else if (last?.kind === 'tools') last.tools.push(entry);
    else blocks.push({ kind: 'tools', tools: [entry] });
  }
  return blocks;
}

interface BlockProps {
  block: Block;
  live: boolean;
  last: boolean;
  parked: boolean;
  onAnswer(text: string): Promise<void>;
  /** Undefined where there is nothing to retry. */
  onRetry: (() => void) | undefined;
  idle: boolean;
}

function Block({ block, live, last, parked, onAnswer, onRetry, idle }: BlockProps) {
  switch (block.kind) {
    case 'user':
      return <Said {...block} />;
    case 'text':
      return block.text === '' ? null : <MarkdownView text={block.text} streaming={live && last} />;
    case 'reasoning':
      return <Thoughts text={block.text} live={live && last} />;
    case 'tools':
      return <ToolTimeline tools={block.tools} live={live} />;
    case 'file':
      return <FileView file={block} />;
    case 'sources':
      return <Sources sources={block.sources} />;
    case 'question':
      if (parked && last) {
        return (
          <Suspense fallback={<Lamp state="waiting" word="Asks you" />}>
            <QuestionCard question={block} onAnswer={onAnswer} />
          </Suspense>
        );
      }
      return (
        <p className="max-w-reading border-accent border-l-2 pl-4 whitespace-pre-wrap text-muted">
          {block.text}
        </p>
      );
    case 'note':
      return block.failed ? (
        <Failure text={block.text} onRetry={last ? onRetry : undefined} idle={idle} />
      ) : (
        <p className="text-14 text-muted">{block.text}</p>
      );
  }
}

/** Stands where a message stands otherwise: what was asked for earlier is due. */
function DueSchedule({ at, prompt }: { at: number; prompt: string }) {
  return (
    <div className="flex max-w-reading gap-3 rounded-corner border border-line bg-raised px-3 py-2">
      <CalendarClock aria-hidden className="mt-0.5 size-4 shrink-0 text-accent-text" />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2 text-12 text-muted">
          <span className="font-medium text-ink">Scheduled in this chat</span>
          <RelativeTime at={at} />
          <a href="/app#/schedules" className="text-accent-text underline underline-offset-2">
            Schedules
          </a>
        </p>
        <p className="text-14 break-words whitespace-pre-wrap">{prompt}</p>
      </div>
    </div>
  );
}

function Failure({ text, onRetry, idle }: { text: string } & Pick<BlockProps, 'onRetry' | 'idle'>) {
  const isModel = text.includes('/setup/model');
  return (
    <div className="max-w-reading">
      <ErrorState
        what="This turn failed."
        why={text}
        todo={isModel ? 'Then retry.' : 'Retry, or say it in other words.'}
        action={
          onRetry && (
            <Button size="small" icon={<RefreshCw aria-hidden />} disabled={!idle} onClick={onRetry}>
              Retry
            </Button>
          )
        }
      />
    </div>
  );
}

// Which of the versions it is, and the way to the others.
function Versions({
  turn,
  beside,
  onStep,
}: { turn: Turn; beside: readonly string[] | undefined } & {
  onStep: TurnActions['step'];
}) {
  if (beside === undefined) return null;
  const at = beside.indexOf(turn.session_id);
  return (
    <fieldset aria-label="Versions" className="flex items-center">
      <IconButton
        small
        label="Previous version"
        icon={<ChevronLeft aria-hidden />}
        disabled={at <= 0}
        onClick={() => onStep(turn, -1)}
      />
      <span className="font-mono">
        {at + 1} of {beside.length}
      </span>
      <IconButton
        small
        label="Next version"
        icon={<ChevronRight aria-hidden />}
        disabled={at === beside.length - 1}
        onClick={() => onStep(turn, 1)}
      />
    </fieldset>
  );
}

/** Enter says it in a new branch, Escape leaves all as it is. */
function EditMessage(props: { text: string; onSave(text: string): Promise<void>; onCancel(): void }) {
  const { onSave, onCancel } = props;
  const [text, setText] = useState(props.text);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const attempt = useAttempt();
  useEffect(() => {
    const { length } = field.current?.value ?? '';
    field.current?.focus();
    field.current?.setSelectionRange(length, length);
  }, []);
  const save = async () => {
    if (busy || text.trim() === '') return;
    setBusy(true);
    await attempt(() => onSave(text.trim()));
    setBusy(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onCancel();
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void save();
  };
  return (
    <form
      aria-label="Edit the message"
      className="flex flex-col gap-2 rounded-corner border border-edge bg-raised p-2 focus-within:border-ink"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        ref={field}
        aria-label="Your message"
        value={text}
        maxLength={200_000}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-60 min-h-10 w-full resize-none bg-transparent px-2 py-2 text-16 outline-none"
      />
      <div className="flex items-center justify-end gap-2">
        <span className="min-w-0 flex-1 px-2 text-12 text-muted">The old version is kept.</span>
        <Button size="small" onClick={onCancel}>
          Cancel
        </Button>
        <Button size="small" type="submit" variant="primary" busy={busy} disabled={text.trim() === ''}>
          Send
        </Button>
      </div>
    </form>
  );
}

// Tokens, money and time, once they are known.
function TurnFooter({
  turn,
  idle,
  onRegenerate,
}: { turn: Turn; idle: boolean } & {
  onRegenerate(turn: Turn): void;
}) {
  const { usage, duration_ms } = turn;
  const answer = turn.entries.flatMap((entry) => (entry.kind === 'text' ? [entry.text] : [])).join('\n\n');
  if (turn.state === 'working' || (usage === null && duration_ms === null)) return null;
  const facts = [
    usage &&
      `${usage.estimated ? '≈ ' : ''}${countOf(usage.inputTokens)} tokens in, ${countOf(usage.outputTokens)} out`,
    usage?.costUsd !== undefined && dollars(usage.costUsd),
    duration_ms !== null && duration(duration_ms),
  ].filter(Boolean);
  return (
    <footer className="flex min-h-7 items-center gap-2 font-mono text-12 text-muted">
      <span>{facts.join(' · ')}</span>
      {answer !== '' && <CopyButton value={answer} label="Copy the answer" />}
      {turn.schedule === undefined && (
        <IconButton
          small
          label="Make the answer again"
          icon={<RefreshCw aria-hidden />}
          disabled={!idle}
          onClick={() => onRegenerate(turn)}
        />
      )}
    </footer>
  );
}

/** The tools that were used one after the other; opens to show what each was given and what it gave. */
function ToolTimeline({ tools, live }: { tools: readonly ToolEntry[]; live: boolean }) {
  const running = live ? tools.find(({ phase }) => phase === 'started') : undefined;
  const failed = tools.filter(({ phase }) => phase === 'failed').length;
  const names = [...new Set(tools.map(({ name }) => name))].join(', ');
  return (
    <details className="group/timeline max-w-reading rounded-corner border border-line bg-raised">
      <summary className="flex min-h-10 cursor-pointer list-none items-center gap-3 px-3 py-1.5 text-14 transition-colors hover:bg-hover">
        <ChevronRight
          aria-hidden
          className="size-4 shrink-0 text-muted transition-transform group-open/timeline:rotate-90"
        />
        <span className="min-w-0 flex-1 truncate">
          <span className="font-medium">
            {running ? `Using ${running.name}` : `Used ${plural(tools.length, 'tool')}`}
          </span>
          <span className="ml-2 font-mono text-12 text-muted">{running ? running.progress : names}</span>
        </span>
        {running && <Lamp {...stateLamp('running')} />}
        {failed > 0 && <Badge tone="failed">{failed} failed</Badge>}
      </summary>
      <ol className="flex flex-col border-line border-t">
        {tools.map((tool) => (
          <ToolRow key={`${tool.id} ${tool.started_at}`} tool={tool} live={live} />
        ))}
      </ol>
    </details>
  );
}

function ToolRow({ tool, live }: { tool: ToolEntry; live: boolean }) {
  const { state, word } = lampOf(tool, live);
  return (
    <li className="flex flex-col gap-3 border-line border-b px-3 py-3 last:border-b-0">
      <div className="flex items-center gap-3">
        <Lamp state={state} word={word} />
        <span className="min-w-0 flex-1 truncate font-mono text-12">{tool.name}</span>
        {tool.ended_at !== null && (
          <span className="font-mono text-12 text-muted">{duration(tool.ended_at - tool.started_at)}</span>
        )}
      </div>
      {tool.args !== undefined && <CodeView title="Given" code={plainText(tool.args)} wrap />}
      {tool.result !== undefined && <CodeView title="Result" code={plainText(tool.result)} wrap />}
    </li>
  );
}

function lampOf({ phase }: ToolEntry, live: boolean): { state: LampState; word: string } {
  if (phase === 'completed') return stateLamp('done');
  if (phase === 'failed') return stateLamp('failed');
  return live ? stateLamp('running') : stateLamp('stopped');
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
