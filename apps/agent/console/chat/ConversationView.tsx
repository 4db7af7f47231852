import { suggestions } from '@trunkline/std';
import { Button, DemoNote, ErrorState, Mark, NotSent, Progress, useAttempt } from '@trunkline/ui';
import { BookOpen, Brain, CalendarClock, Clock, ListTodo, NotebookPen } from 'lucide-react';
import { lazy, type RefObject, Suspense, useCallback, useEffect, useRef } from 'react';
import { useServiceHealth } from '../shared/AgentShell.tsx';
import { Composer } from './Composer.tsx';
import type { Conversation } from './useConversation.ts';
import { isParked } from './wire.ts';

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
}

/** One conversation, with the place to go on with it. */
export function ConversationView({ sessionId, conversation }: ConversationViewProps) {
  const attempt = useAttempt();
  const { turns, loading, error, open, hasOlder, unsent, say, retry, discard } = conversation;
  const scroller = useStickToEnd(`${sessionId} ${turns.at(-1)?.task_id}`);
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
                <TurnView key={turn.task_id} turn={turn} onAnswer={answer} />
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
          working={open?.state === 'working'}
          answering={open !== undefined && isParked(open)}
          onSend={say}
          onStop={conversation.stop}
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

/** Keeps the end of a scrolling part in view while it grows, unless the person has scrolled away from it. */
function useStickToEnd(key: string): RefObject<HTMLDivElement | null> {
  const part = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another content begins at its end
  useEffect(() => {
    const element = part.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    let sticks = true;
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
  }, [key]);
  return part;
}
