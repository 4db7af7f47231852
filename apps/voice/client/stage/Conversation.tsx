import { useEffect, useRef } from 'react';
import type { Caption, Entry, Exchange } from '../call/exchange.ts';
import { ToolLine } from './ToolLine.tsx';

/** What both sides say, as they say it, and the tools that were used in between. */
export function Conversation({ exchange }: { exchange: Exchange }) {
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
        ) : (
          <CaptionLine key={entry.id} caption={entry} />
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

function CaptionLine({ caption }: { caption: Caption }) {
  const { who, text, pending, cut, typed } = caption;
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
    </li>
  );
}

// Stays at the newest words, unless the person has scrolled up to read.
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
