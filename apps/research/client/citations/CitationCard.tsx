import { Lamp, useMediaQuery } from '@trunkline/ui';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { citationState, judgeText } from '../../citations/judge-words.ts';
import { placeOf } from '../lib/format.ts';
import type { CitationTarget } from './marks.ts';
import { SourceLink } from './SourceLink.tsx';
import type { CitationCardState } from './useCitationCard.ts';

const GAP = 8;
const WIDTH = 384;

interface CitationCardProps {
  target: CitationTarget;
  state: CitationCardState;
  link: HTMLAnchorElement;
}

/** The passage that a citation was checked against, beside the citation; on a phone at the foot of the screen. */
export function CitationCard({ target, state, link }: CitationCardProps) {
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const wide = useMediaQuery('(min-width: 40rem)');
  const [place, setPlace] = useState({ left: 0, top: 0 });
  useLayoutEffect(() => {
    if (wide && card.current !== null) setPlace(placeBeside(link, card.current));
  }, [link, wide]);
  useEffect(() => {
    link.setAttribute('aria-describedby', id);
    return () => link.removeAttribute('aria-describedby');
  }, [link, id]);
  return (
    <div
      ref={card}
      id={id}
      role="tooltip"
      data-citation-card
      onPointerEnter={state.hold}
      onPointerLeave={(event) => event.pointerType === 'mouse' && state.leave()}
      className="fixed inset-x-2 bottom-[calc(var(--bottom-bar)+0.5rem)] z-40 max-h-[50dvh] animate-appear overflow-y-auto rounded-corner border border-line-strong bg-raised p-4 text-14 shadow-float sm:inset-x-auto sm:bottom-auto sm:w-96"
      {...(wide && { style: { left: `${place.left}px`, top: `${place.top}px` } })}
    >
      <Verdict target={target} />
      <Source target={target} />
      <Passage target={target} />
    </div>
  );
}

const VERDICTS = {
  supported: { lamp: 'live', word: 'Supported by the page' },
  'not supported': { lamp: 'failed', word: 'Not supported by the page' },
  'not checked': { lamp: 'waiting', word: 'Not checked' },
} as const;

function Verdict({ target: { claim, number } }: { target: CitationTarget }) {
  if (claim === undefined) return null;
  const { supported, reason } = claim;
  const { lamp, word } = VERDICTS[citationState(claim)];
  return (
    <div>
      <Lamp state={lamp} word={number === undefined ? 'No source' : word} />
      {!supported && reason && <p className="mt-1 text-12 text-muted first-letter:uppercase">{reason}.</p>}
      {number !== undefined && claim.judge !== 'none' && (
        <p className="mt-1 text-12 text-muted first-letter:uppercase">{judgeText(claim)}.</p>
      )}
    </div>
  );
}

function Source({ target }: { target: CitationTarget }) {
  const { source, number } = target;
  if (source === undefined) return null;
  return (
    <p className="mt-2 font-medium break-words">
      <span className="mr-2 font-mono text-12 text-muted">{number}</span>
      <SourceLink url={source.url} passage={passageOf(target)} className="underline underline-offset-2">
        {source.title}
      </SourceLink>
      <span className="block text-12 font-normal text-muted">{placeOf(source.url)}</span>
    </p>
  );
}

function passageOf({ claim, source }: CitationTarget): string {
  return claim === undefined ? (source?.snippet ?? '') : claim.passage;
}

function Passage({ target }: { target: CitationTarget }) {
  const words = passageOf(target);
  if (words === '') return null;
  return (
    <blockquote className="mt-3 border-accent border-l-2 pl-3 break-words text-ink">
      <p className="sr-only">{target.claim === undefined ? 'The search result says' : 'The page says'}</p>
      <p>{words}</p>
    </blockquote>
  );
}

/** Below the citation, or above it where there is no room; never beyond the window. */
function placeBeside(link: HTMLElement, card: HTMLElement): { left: number; top: number } {
  const { left, top, bottom } = link.getBoundingClientRect();
  const { innerWidth, innerHeight } = window;
  const height = card.offsetHeight;
  const below = bottom + GAP;
  const fits = below + height <= innerHeight - GAP;
  return {
    left: Math.max(GAP, Math.min(left - GAP, innerWidth - WIDTH - GAP)),
    top: fits ? below : Math.max(GAP, top - height - GAP),
  };
}
