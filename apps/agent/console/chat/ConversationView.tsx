import { suggestions } from '@trunkline/std';
import {
  Button,
  DemoNote,
  ErrorState,
  Mark,
  NotSent,
  Progress,
  useAttempt,
  useHotkeys,
  useResource,
} from '@trunkline/ui';
import { BookOpen, Brain, CalendarClock, ChevronDown, Clock, ListTodo, NotebookPen } from 'lucide-react';
import { lazy, type RefObject, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useServiceHealth } from '../shared/AgentShell.tsx';
import { Composer } from './Composer.tsx';
import type { TurnActions } from './TurnView.tsx';
import type { Conversation } from './useConversation.ts';
import { type ChatModels, isParked, type Turn } from './wire.ts';

const NEAR_PX = 80;

const IDEAS = [
  { icon: <Clock aria-hidden />, text: suggestions.time },
  { icon: <Brain aria-hidden />, text: suggestions.remember },
  { icon: <CalendarClock aria-hidden />, text: suggestions.reminder },
  { icon: <ListTodo aria-hidden />, text: suggestions.form },
  { icon: <NotebookPen aria-hidden />, text: suggestions.note },
  { icon: <BookOpen aria-hidden />, text: suggestions.compare },
];

interface ConversationViewProps {
  sessionId: string;
  conversation: Conversation;
  /** What a search found: the turn, and the words in it. */
  found: { taskId: string; words: string } | undefined;
}

/** One conversation, with the place to go on with it. */
export function ConversationView({ sessionId, conversation, found }: ConversationViewProps) {
  const attempt = useAttempt();
  const [editing, setEditing] = useState<string>();
  const { turns, loading, error, open, hasOlder, unsent, say, retry, discard } = conversation;
  const isFound = found !== undefined && turns.some(({ task_id }) => task_id === found.taskId);
  // A new chat is read from its greeting on.
  const isElsewhere = isFound || turns.length === 0;
  const scroller = useStickToEnd(`${sessionId} ${turns.at(-1)?.task_id}`, isElsewhere);
  useFound(scroller, isFound ? found : undefined);
  const working = open?.state === 'working' && open.schedule === undefined;
  const last = turns.findLast(({ schedule }) => schedule === undefined);
  const { fork, step } = useLatestActions(conversation);
  const act = useCallback((action: () => Promise<void>) => void attempt(action), [attempt]);
  const edit = useCallback(
    async (turn: Turn, text: string) => {
      await fork(turn, text);
      setEditing(undefined);
    },
    [fork],
  );
  const actions = useMemo<TurnActions>(
    () => ({
      edit,
      beginEdit: setEditing,
      regenerate: (turn) => act(() => fork(turn)),
      step: (turn, by) => act(() => step(turn, by)),
    }),
    [act, edit, fork, step],
  );
  const editLast = () => last && !working && setEditing(last.task_id);
  const stepLast = (by: number) => {
    const turn = turns.findLast(({ task_id }) => conversation.branches[task_id] !== undefined);
    if (turn) actions.step(turn, by);
  };
  useHotkeys([
    { keys: 'arrowup', label: 'Edit the last message, from an empty message box' },
    { keys: 'e', label: 'Edit the last message', run: editLast },
    {
      keys: 'r',
      label: 'Make the last answer again',
      run: () => last && !working && actions.regenerate(last),
    },
    { keys: 'arrowleft', label: 'Previous version', run: () => stepLast(-1) },
    { keys: 'arrowright', label: 'Next version', run: () => stepLast(1) },
  ]);
  const latest = useRef(conversation.send);
  useEffect(() => {
    latest.current = conversation.send;
  });
  const answer = useCallback((text: string) => latest.current(text), []);
  return (
    <>
      <div ref={scroller} className="flex min-h-0 flex-1 flex-col overflow-y-auto" data-testid="conversation">
        <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col gap-8 px-4 py-6">
          {error && (
            <ErrorState what="This chat could not be loaded." why={error.message} todo={error.advice} />
          )}
          {loading && !error && turns.length === 0 && <Progress words="Loading the chat" />}
          {hasOlder && (
            <Button className="self-center" size="small" onClick={() => void attempt(conversation.loadOlder)}>
              Show older turns
            </Button>
          )}
          {turns.length > 0 && (
            <Suspense fallback={<Progress words="Loading the chat" />}>
              {turns.map((turn) => (
                <TurnView
                  key={turn.task_id}
                  turn={turn}
                  onAnswer={answer}
                  beside={conversation.branches[turn.task_id]}
                  editing={editing === turn.task_id}
                  idle={!working}
                  actions={actions}
                />
              ))}
            </Suspense>
          )}
          {!loading && !error && turns.length === 0 && unsent.length === 0 && (
            <Welcome onAsk={(text) => void say(text)} />
          )}
          {unsent.map((message) => (
            <div key={message.id} className="flex flex-col items-end gap-2">
              <p className="rounded-corner border border-line bg-sunken px-4 py-2 text-16 break-words whitespace-pre-wrap">
                {message.text}
              </p>
              {message.error ? (
                <NotSent
                  why={message.error.message}
                  onRetry={() => void retry(message)}
                  onDiscard={() => discard(message)}
                />
              ) : (
                <Progress words="Sending" />
              )}
            </div>
          ))}
        </div>
      </div>
      <div className="mx-auto w-full max-w-3xl px-4 pb-4" onInput={prepareTurns}>
        <Composer
          key={sessionId}
          working={working}
          onEditLast={editLast}
          answering={open !== undefined && isParked(open)}
          onSend={say}
          onStop={conversation.stop}
          picker={<ModelPicker model={conversation.model} chooseModel={conversation.chooseModel} />}
        />
      </div>
    </>
  );
}

// What shows a turn weighs more than the rest of the page: it is loaded with the first one, or while it is written.
const loadTurns = () => import('./TurnView.tsx');
const TurnView = lazy(async () => ({ default: (await loadTurns()).TurnView }));

function prepareTurns(): void {
  // Where it fails it is loaded again when it is needed, and the failure is told then.
  void loadTurns().catch(() => undefined);
}

/** An empty conversation: what one may ask, each a click away. */
function Welcome({ onAsk }: { onAsk(text: string): void }) {
  const { health } = useServiceHealth();
  return (
    <div className="m-auto flex w-full max-w-xl flex-col items-center gap-6 px-4 py-10 text-center">
      <Mark className="size-12" />
      <div className="flex flex-col items-center gap-2">
        <h2 className="text-28">What shall I do for you?</h2>
        <p className="text-16 text-balance text-muted">
          I use tools, remember what you tell me, and do things later when you ask for it.
        </p>
        <DemoNote health={health} />
      </div>
      <ul className="grid w-full gap-2 sm:grid-cols-2">
        {IDEAS.map(({ icon, text }) => (
          <li key={text}>
            <button
              type="button"
              onClick={() => onAsk(text)}
              className="flex h-full min-h-14 w-full cursor-pointer items-center gap-3 rounded-corner border border-line bg-raised px-4 py-2 text-left transition-colors hover:border-edge hover:bg-hover [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-accent-text"
            >
              {icon}
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What can be done with a conversation, as functions that stay the same. */
function useLatestActions(conversation: Conversation): Pick<Conversation, 'fork' | 'step'> {
  const latest = useRef(conversation);
  useEffect(() => {
    latest.current = conversation;
  });
  return useMemo(
    () => ({
      fork: (turn, text) => latest.current.fork(turn, text),
      step: (turn, by) => latest.current.step(turn, by),
    }),
    [],
  );
}

/** Brings what a search found into view, and marks the words in it. */
function useFound(
  scroller: RefObject<HTMLDivElement | null>,
  found: { taskId: string; words: string } | undefined,
): void {
  const [taskId, words] = [found?.taskId, found?.words.trim().toLowerCase() ?? ''];
  useEffect(() => {
    const content = scroller.current?.firstElementChild;
    if (taskId === undefined || !content) return;
    // What shows a turn may still be on its way.
    const show = () => {
      const turn = content.querySelector(`[data-task="${CSS.escape(taskId)}"]`);
      if (turn === null) return;
      observer.disconnect();
      const ranges = rangesOf(turn, words);
      CSS.highlights.set('found', new Highlight(...ranges));
      (ranges[0]?.startContainer.parentElement ?? turn).scrollIntoView({ block: 'center' });
    };
    const observer = new MutationObserver(show);
    observer.observe(content, { childList: true, subtree: true });
    show();
    return () => {
      observer.disconnect();
      CSS.highlights.delete('found');
    };
  }, [scroller, taskId, words]);
}

function rangesOf(part: Element, words: string): Range[] {
  if (words === '') return [];
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? '';
    for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + words.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/**
 * Keeps the end of a scrolling part in view while it grows, unless the person has scrolled away from it, or something
 * else is to be shown.
 */
function useStickToEnd(key: string, elsewhere: boolean): RefObject<HTMLDivElement | null> {
  const part = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another content begins at its end
  useEffect(() => {
    const element = part.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    let sticks = !elsewhere;
    const toEnd = () => {
      if (sticks) element.scrollTop = element.scrollHeight;
    };
    let top = element.scrollTop;
    // Growing content leaves the end behind without a scroll; only a scroll upwards is the person's.
    const onScroll = () => {
      const near = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
      if (near) sticks = true;
      else if (element.scrollTop < top) sticks = false;
      top = element.scrollTop;
    };
    // Who opens something wants to read it, not to be taken away from it.
    const onClick = ({ target }: Event) => {
      if (target instanceof Element && target.closest('summary')) sticks = false;
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(content);
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('click', onClick);
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('click', onClick);
    };
  }, [key, elsewhere]);
  return part;
}

/** Chooses the model of a chat; shows nothing where there is none to choose, as with the demo model. */
function ModelPicker({ model, chooseModel }: Pick<Conversation, 'model' | 'chooseModel'>) {
  const attempt = useAttempt();
  const { body } = useResource<ChatModels>('/api/chat/models');
  if (body === undefined) return null;
  const { standard, models, problem } = body;
  const isGone = model !== null && !models.some(({ id }) => id === model);
  if (models.length === 0 && !isGone) return null;
  return (
    <label className="relative flex min-w-0 max-w-44 shrink items-center sm:max-w-60">
      <select
        aria-label="Model of this chat"
        value={model ?? ''}
        onChange={({ target }) => void attempt(() => chooseModel(target.value || null))}
        className="h-9 w-full min-w-0 cursor-pointer appearance-none truncate rounded-corner bg-transparent pr-7 pl-2 text-14 text-muted hover:bg-hover pointer-coarse:h-11"
      >
        <option value="">{standard} (standard)</option>
        {isGone && <option value={model}>{model} (no longer offered)</option>}
        {models.map(({ id, name, role }) => (
          <option key={id} value={id}>
            {role === undefined ? name : `${name} (${role})`}
          </option>
        ))}
        {problem !== null && <option disabled>{problem}</option>}
      </select>
      <ChevronDown aria-hidden className="pointer-events-none absolute right-2 size-4 text-muted" />
    </label>
  );
}
