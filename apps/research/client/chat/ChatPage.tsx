import type { Chart } from '@trunkline/std/chart';
import {
  Button,
  ErrorState,
  Lamp,
  NotSent,
  PAGE,
  Progress,
  Skeleton,
  Thoughts,
  useHotkeys,
} from '@trunkline/ui';
import { Square, Trash2 } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { CheckedAnswer, CitedSource, Claim } from '../../api-types.ts';
import { scoreText } from '../../citations/marks.ts';
import { AskForm } from '../ask/AskForm.tsx';
import { ChartFigure } from '../charts/ChartedTable.tsx';
import { CitedText, SourceLink } from '../citations/CitedText.tsx';
import { placeOf, titleOf } from '../lib/format.ts';
import { replaceWith } from '../lib/route.ts';
import { DeleteDialog } from '../library/DeleteDialog.tsx';
import { type Chat, type ChatMessage, citedBy, useChat, withoutSourceList } from './useChat.ts';

const NO_CLAIMS: Claim[] = [];
const NO_SOURCES: CitedSource[] = [];

/** A conversation: questions, and answers with numbered sources. */
export function ChatPage({ id }: { id: string }) {
  const chat = useChat(id);
  const { messages, isLoading, isAnswering, error } = chat;
  useHotkeys([{ keys: 'mod+.', label: 'Stop the answer', run: chat.stop, whileTyping: true }]);
  return (
    <div
      className={`${PAGE} min-h-[calc(100dvh-var(--bottom-bar)-var(--section-bar)-var(--notices,0px))] pb-0`}
    >
      <h1 className="sr-only">Chat</h1>
      {error === undefined && <DeleteChat id={id} chat={chat} />}
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

/** Of no use while an answer is under way, nor for a chat of which the service has nothing. */
function DeleteChat({ id, chat: { messages, isAnswering } }: { id: string; chat: Chat }) {
  const [open, setOpen] = useState(false);
  const title = messages[0]?.content ?? '';
  const isStored = messages.some(({ unsent }) => unsent === undefined);
  return (
    <div className="-mb-4 flex justify-end">
      <Button
        size="small"
        variant="quiet"
        icon={<Trash2 aria-hidden />}
        disabled={isAnswering || !isStored}
        onClick={() => setOpen(true)}
      >
        Delete
      </Button>
      <DeleteDialog
        item={open ? { kind: 'chat', id, title } : undefined}
        onClose={() => setOpen(false)}
        onDeleted={() => replaceWith({ name: 'library' })}
      />
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
  if (last.unsent !== undefined)
    return (
      <li>
        <NotSent why={last.unsent} onRetry={askAgain} />
      </li>
    );
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

/** An answer as it comes, with the sources it cites. */
function AnswerView({ message, isOpen }: { message: ChatMessage; isOpen: boolean }) {
  const {
    content,
    sources = NO_SOURCES,
    searches = [],
    charts = [],
    troubles = [],
    error,
    reasoning = '',
    note,
    checked,
  } = message;
  const text = useMemo(() => withoutSourceList(checked?.text ?? content), [checked, content]);
  const figures = checked?.figures ?? [];
  const search = searches.at(-1);
  return (
    <div className="flex flex-col gap-4" aria-busy={isOpen}>
      {note !== undefined && <p className="text-12 text-muted">{note}.</p>}
      <Thoughts text={reasoning} live={isOpen && content === ''} />
      {isOpen && content === '' && (
        <Progress words={search === undefined ? 'Thinking' : `Read the results for “${search}”`} />
      )}
      {text !== '' && (
        <CitedText text={text} claims={checked?.claims ?? NO_CLAIMS} sources={sources} streaming={isOpen} />
      )}
      {checked !== undefined && checked.claims.length > 0 && <Checked answer={checked} />}
      {charts.map((chart, index) => (
        <DrawnChart
          // biome-ignore lint/suspicious/noArrayIndexKey: charts keep their places
          key={index}
          chart={chart}
          figures={figures[index]}
          sources={sources}
          isOpen={isOpen}
        />
      ))}
      {error && <ErrorState what="The answer broke off." why={error} todo="Ask again, or ask otherwise." />}
      {sources.length > 0 && (
        <SourceList
          sources={
            isOpen ? sources : citedBy([text, ...figures.map((each) => each.text)].join('\n'), sources)
          }
        />
      )}
      <NotSearched troubles={troubles.filter((trouble) => !content.includes(trouble))} />
    </div>
  );
}

interface DrawnChartProps {
  chart: Chart;
  figures: CheckedAnswer | undefined;
  sources: readonly CitedSource[];
  isOpen: boolean;
}

/** A chart of the answer; its figures are checked and cited as the statements are. */
function DrawnChart({ chart, figures, sources, isOpen }: DrawnChartProps) {
  const isChecked = figures !== undefined && figures.claims.length > 0;
  return (
    <ChartFigure chart={chart}>
      {!isChecked && !isOpen && (
        <p className="text-12 text-muted">These figures were not checked against a source.</p>
      )}
      {isChecked && (
        <details className="text-14">
          <summary className="min-h-8 cursor-pointer text-12 text-muted">
            Figures supported: {scoreText(figures.citations)}. Show them with their sources
          </summary>
          <CitedText text={figures.text} claims={figures.claims} sources={sources} tables="plain" />
        </details>
      )}
    </ChartFigure>
  );
}

/** How many statements of the answer hold, and how many nobody checked. */
function Checked({ answer: { citations } }: { answer: CheckedAnswer }) {
  return <p className="text-12 text-muted">Citations supported: {scoreText(citations)}.</p>;
}

/** What the answer does not rest on, as it could not be asked. */
function NotSearched({ troubles }: { troubles: readonly string[] }) {
  return troubles.map((trouble) => (
    <p key={trouble} className="flex items-start gap-2 text-12 text-muted">
      <Lamp state="waiting" word="Not searched" />
      <span className="min-w-0 break-words">{trouble}</span>
    </p>
  ));
}

function SourceList({ sources }: { sources: readonly CitedSource[] }) {
  return (
    <section aria-label="Sources">
      <ol className="grid gap-2 sm:grid-cols-2">
        {sources.map((source) => (
          <SourceCard key={source.url} source={source} />
        ))}
      </ol>
    </section>
  );
}

function SourceCard({ source }: { source: CitedSource }) {
  const { number, url, snippet } = source;
  return (
    <li className="relative flex items-baseline gap-3 rounded-corner border border-line bg-raised px-3 py-2 transition-colors has-[a,button]:hover:border-edge">
      <span className="font-mono text-12 text-muted">{number}</span>
      <span className="min-w-0 flex-1">
        <span className="line-clamp-1 font-medium text-14 break-words">
          <SourceLink url={url} passage={snippet} className="after:absolute after:inset-0">
            {titleOf(source)}
          </SourceLink>
        </span>
        <span className="block truncate text-12 text-muted">{placeOf(url)}</span>
      </span>
    </li>
  );
}
