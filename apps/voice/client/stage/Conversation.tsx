import { IconButton, Lamp, NotSent, RuleLink, stateLamp } from '@trunkline/ui';
import { SendHorizontal } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Caption, Entry, Exchange, ToolStep } from '../call/exchange.ts';

const STATES: Record<ToolStep['state'], ReturnType<typeof stateLamp>> = {
  running: stateLamp('running'),
  done: stateLamp('done'),
  failed: stateLamp('failed'),
  held: stateLamp('held'),
};

/** Captions of both sides, and the tools used in between. */
export function Conversation({ exchange, onRetry }: { exchange: Exchange; onRetry(): void }) {
  const { entries } = exchange;
  const list = useFollowing(entries);
  return (
    <ol
      ref={list}
      aria-label="Conversation"
      aria-live="polite"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
      tabIndex={0}
      className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto overscroll-contain px-4 py-4 focus-visible:-outline-offset-2"
    >
      {entries.map((entry) =>
        entry.kind === 'tool' ? (
          <ToolLine key={entry.id} step={entry} />
        ) : entry.kind === 'note' ? (
          <li key={entry.id} className="text-12 break-words text-muted">
            {entry.text}
          </li>
        ) : (
          <CaptionLine key={entry.id} caption={entry} onRetry={onRetry} />
        ),
      )}
      {entries.length === 0 && (
        <li className="m-auto max-w-60 text-center text-14 text-balance text-muted">
          What you both say appears here, as it is said.
        </li>
      )}
    </ol>
  );
}

function CaptionLine({ caption, onRetry }: { caption: Caption; onRetry(): void }) {
  const { who, text, pending, cut, typed, unsent } = caption;
  const mine = who === 'you';
  return (
    <li
      data-who={who}
      className={
        mine ? 'max-w-[85%] self-end rounded-corner bg-accent-wash px-3 py-2' : 'max-w-[92%] self-start'
      }
    >
      <p className="text-12 text-muted">{mine ? (typed ? 'You, typed' : 'You') : 'Assistant'}</p>
      <p className="text-16 break-words">
        {text}
        {pending !== '' && (
          <span className="text-muted">
            {text !== '' && ' '}
            {pending.trim()}
          </span>
        )}
        {cut && <span className="text-muted"> (you broke in)</span>}
      </p>
      {unsent && <NotSent onRetry={onRetry} />}
    </li>
  );
}

// Follows the newest words unless the person has scrolled up.
function useFollowing(entries: readonly Entry[]) {
  const list = useRef<HTMLOListElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const onScroll = () => {
      follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 48;
    };
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => element.removeEventListener('scroll', onScroll);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of the entries moves the end
  useEffect(() => {
    if (follows.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [entries]);
  return list;
}

/** One step of the tool timeline; input and result are collapsed. */
function ToolLine({ step }: { step: ToolStep }) {
  const lamp = STATES[step.state];
  const seconds = step.endedAt === undefined ? undefined : (step.endedAt - step.startedAt) / 1000;
  return (
    <li data-tool={step.name} className="border-line-strong border-l-2 pl-3">
      <details>
        <summary className="flex cursor-pointer list-none items-center gap-2 text-14">
          <span className="min-w-0 truncate font-mono text-12">{step.name}</span>
          <Lamp {...lamp} size="small" />
          {seconds !== undefined && (
            <span className="font-mono text-12 text-muted">{seconds.toFixed(1)} s</span>
          )}
        </summary>
        <dl className="mt-1 flex flex-col gap-1 font-mono text-12 text-muted">
          {step.input !== '' && <Detail label="Asked" text={step.input} />}
          {step.result !== '' && <Detail label="Answer" text={step.result} />}
        </dl>
      </details>
      {step.held && (
        <>
          <p className="break-words text-14 first-letter:uppercase">{step.held.why}.</p>
          <RuleLink rule={step.held.rule} />
        </>
      )}
    </li>
  );
}

function Detail({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <dt className="font-sans">{label}</dt>
      <dd className="max-h-40 overflow-y-auto break-words whitespace-pre-wrap text-ink">{text}</dd>
    </div>
  );
}

/** A page of ours may open this one with words to say: `/#say=Remind%20me`. */
function preparedText(): string {
  return new URLSearchParams(window.location.hash.slice(1)).get('say') ?? '';
}

export function Composer({ onSend }: { onSend(text: string): void }) {
  const [text, setText] = useState(preparedText);
  const words = text.trim();
  return (
    <form
      className="flex items-center gap-1 border-line border-t bg-raised px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (words === '') return;
        onSend(words);
        setText('');
      }}
    >
      <input
        type="text"
        aria-label="Message"
        placeholder="Type instead"
        autoComplete="off"
        enterKeyHint="send"
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="h-10 min-w-0 flex-1 rounded-corner bg-transparent px-2 text-16 text-ink placeholder:text-muted focus-visible:-outline-offset-2"
      />
      <IconButton type="submit" label="Send" icon={<SendHorizontal aria-hidden />} disabled={words === ''} />
    </form>
  );
}
