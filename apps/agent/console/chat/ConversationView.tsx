import { Button, ErrorState, Progress, useAttempt } from '@trunkline/ui';
import { useCallback, useEffect, useRef } from 'react';
import { Composer } from './Composer.tsx';
import { TurnView } from './TurnView.tsx';
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
          {turns.map((turn) => (
            <TurnView key={turn.task_id} turn={turn} onAnswer={answer} />
          ))}
          {!loading && !error && turns.length === 0 && (
            <Welcome onAsk={(text) => void attempt(() => conversation.send(text))} />
          )}
        </div>
      </div>
      <div className="mx-auto w-full max-w-3xl px-4 pb-4">
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
