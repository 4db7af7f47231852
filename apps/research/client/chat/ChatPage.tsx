import { Button, ErrorState, Skeleton, useHotkeys } from '@trunkline/ui';
import { Square } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { AskForm } from '../ask/AskForm.tsx';
import { AnswerView } from './AnswerView.tsx';
import type { ChatMessage } from './messages.ts';
import { type Chat, useChat } from './useChat.ts';

/** A conversation: questions, and answers with numbered sources. */
export function ChatPage({ id }: { id: string }) {
  const chat = useChat(id);
  const { messages, isLoading, isAnswering, error } = chat;
  useHotkeys([{ keys: 'mod+.', label: 'Stop the answer', run: chat.stop, whileTyping: true }]);
  return (
    <div className="mx-auto flex min-h-[calc(100dvh-var(--bottom-bar))] max-w-3xl flex-col px-4 pt-8 sm:px-8">
      {isLoading && <Skeleton rows={5} />}
      {error && messages.length === 0 && (
        <ErrorState what="This conversation could not be opened." why={error.message} todo={error.advice} />
      )}
      <ol className="flex flex-1 flex-col gap-8 pb-8">
        {messages.map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages keep their places
          <Message key={index} message={message} isOpen={isAnswering && index === messages.length - 1} />
        ))}
        <CutOff chat={chat} />
      </ol>
      <EndMark follows={isAnswering} length={messages.length} />
      <div className="sticky bottom-(--bottom-bar) bg-paper pb-4">
        {isAnswering ? (
          <Button icon={<Square aria-hidden />} onClick={chat.stop} className="w-full">
            Stop
          </Button>
        ) : (
          <AskForm label="A further question" placeholder="Ask further" onAsk={chat.ask} />
        )}
      </div>
    </div>
  );
}

function Message({ message, isOpen }: { message: ChatMessage; isOpen: boolean }) {
  return (
    <li>
      {message.role === 'user' ? (
        <h2 className="text-20 break-words whitespace-pre-wrap">{message.content}</h2>
      ) : (
        <AnswerView message={message} isOpen={isOpen} />
      )}
    </li>
  );
}

/** The page was left before the answer was there: the question is kept. */
function CutOff({ chat: { messages, isAnswering, isLoading, askAgain } }: { chat: Chat }) {
  const last = messages.at(-1);
  const isCut = last !== undefined && (last.role === 'user' || last.error !== undefined);
  if (!isCut || isAnswering || isLoading) return null;
  return (
    <li className="flex flex-wrap items-center gap-3">
      {last.role === 'user' && <span className="text-14 text-muted">The answer was cut off.</span>}
      <Button size="small" onClick={askAgain}>
        Ask again
      </Button>
    </li>
  );
}

/** A new question is brought into view. */
function EndMark({ follows, length }: { follows: boolean; length: number }) {
  const mark = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new message counts
  useEffect(() => {
    if (follows) mark.current?.scrollIntoView({ block: 'end' });
  }, [follows, length]);
  return <div ref={mark} />;
}
