import { Button, ErrorState, Progress, useAttempt } from '@trunkline/ui';
import { lazy, Suspense, useCallback, useEffect, useRef } from 'react';
import { Composer } from './Composer.tsx';
import type { Conversation } from './useConversation.ts';
import { useStickToEnd } from './useStickToEnd.ts';
import { Welcome } from './Welcome.tsx';
import { isParked } from './wire.ts';

interface ConversationViewProps {
  sessionId: string;
  conversation: Conversation;
}

/** One conversation, with the place to go on with it. */
export function ConversationView({ sessionId, conversation }: ConversationViewProps) {
  const attempt = useAttempt();
  const { turns, loading, error, open, hasOlder } = conversation;
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
          {!loading && !error && turns.length === 0 && (
            <Welcome onAsk={(text) => void attempt(() => conversation.send(text))} />
          )}
        </div>
      </div>
      <div className="mx-auto w-full max-w-3xl px-4 pb-4" onInput={prepareTurns}>
        <Composer
          key={sessionId}
          working={open?.state === 'working'}
          answering={open !== undefined && isParked(open)}
          onSend={conversation.send}
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
