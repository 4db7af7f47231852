import { Lamp, MarkdownView, useMediaQuery } from '@trunkline/ui';
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import type { CitedSource, Claim } from '../../api-types.ts';
import {
  type CitationMark,
  changeText,
  citationState,
  judgeText,
  rewriteMarks,
} from '../../citations/marks.ts';
import { ChartedTable } from '../charts/ChartedTable.tsx';
import { useFileAt } from '../files/FileViewer.tsx';
import { placeOf, titleOf } from '../lib/format.ts';

const LEAVE_MS = 180;

const GAP = 8;

const WIDTH = 384;

const VERDICTS = {
  supported: { lamp: 'live', word: 'Supported by the page' },
  'not supported': { lamp: 'failed', word: 'Not supported by the page' },
  'not checked': { lamp: 'waiting', word: 'Not checked' },
} as const;

interface CitedTextProps {
  text: string;
  claims: readonly Claim[];
  sources: readonly CitedSource[];
  streaming?: boolean;
  /** Whether tables of figures can be shown as charts. */
  tables?: 'charted' | 'plain';
}

const LOOK = [
  '[&_a[href^="#claim"]]:rounded-small [&_a[href^="#claim"]]:bg-live-wash [&_a[href^="#claim"]]:text-live-text',
  '[&_a[href^="#doubt"]]:rounded-small [&_a[href^="#doubt"]]:bg-failed-wash [&_a[href^="#doubt"]]:text-failed-text',
  '[&_a[href^="#source"]]:rounded-small [&_a[href^="#source"]]:bg-accent-wash',
  '[&_a[href^="#"]]:ml-0.5 [&_a[href^="#"]]:px-1 [&_a[href^="#"]]:py-0.5 [&_a[href^="#"]]:font-mono [&_a[href^="#"]]:text-12 [&_a[href^="#"]]:no-underline [&_a[href^="#"]]:whitespace-nowrap',
].join(' ');

/** Markdown whose citations show what they were checked against when hovered, focused or tapped. */
export function CitedText({ text, claims, sources, streaming = false, tables = 'charted' }: CitedTextProps) {
  const root = useRef<HTMLDivElement>(null);
  const card = useCitationCard(root);
  const linked = useMemo(() => linkMarks(text, claims), [text, claims]);
  useLabels(root, linked, claims, sources);
  const { link } = card;
  const target = link === null ? undefined : targetOf(link.getAttribute('href') ?? '', claims, sources);
  return (
    <div ref={root} className={LOOK}>
      <MarkdownView
        text={linked}
        streaming={streaming}
        table={tables === 'charted' && !streaming ? ChartedTable : undefined}
      />
      {link !== null && target !== undefined && <CitationCard target={target} state={card} link={link} />}
    </div>
  );
}

/** Screen readers hear more than the number of a citation. */
function useLabels(
  root: RefObject<HTMLElement | null>,
  linked: string,
  claims: readonly Claim[],
  sources: readonly CitedSource[],
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the links change with the text
  useEffect(() => {
    for (const link of root.current?.querySelectorAll('a[href^="#"]') ?? []) {
      const target = targetOf(link.getAttribute('href') ?? '', claims, sources);
      if (target !== undefined) link.setAttribute('aria-label', labelOf(target));
    }
  }, [root, linked, claims, sources]);
}

interface CitationCardProps {
  target: CitationTarget;
  state: CitationCardState;
  link: HTMLAnchorElement;
}

/** The passage that a citation was checked against, beside the citation; on a phone at the foot of the screen. */
function CitationCard({ target, state, link }: CitationCardProps) {
  const id = useId();
  const card = useRef<HTMLDivElement>(null);
  const wide = useMediaQuery('(min-width: 40rem)');
  const [place, setPlace] = useState({ left: 0, top: 0 });
  const { close } = state;
  useLayoutEffect(() => {
    const follow = () => {
      if (!isInWindow(link)) close();
      else if (wide && card.current !== null) setPlace(placeBeside(link, card.current));
    };
    follow();
    // Focus by the keyboard scrolls to the citation, and the event of it comes after the card.
    window.addEventListener('scroll', follow, { capture: true, passive: true });
    return () => window.removeEventListener('scroll', follow, { capture: true });
  }, [link, wide, close]);
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

function Verdict({ target: { claim, number } }: { target: CitationTarget }) {
  if (claim === undefined) return null;
  const { supported, reason } = claim;
  const { lamp, word } = VERDICTS[citationState(claim)];
  return (
    <div>
      <Lamp state={lamp} word={number === undefined ? 'No source' : word} />
      {!supported && reason && <p className="mt-1 text-12 text-muted first-letter:uppercase">{reason}.</p>}
      {number !== undefined && claim.judge !== 'none' && (
        <p className="mt-1 text-12 text-muted first-letter:uppercase">
          {judgeText(claim)}
          {claim.certain && ', sure'}.
        </p>
      )}
      {claim.change && <p className="mt-1 text-12 text-muted first-letter:uppercase">{changeText(claim)}.</p>}
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
        {titleOf(source)}
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

function isInWindow(link: HTMLElement): boolean {
  const { top, bottom } = link.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
}

interface CitationCardState {
  /** The link whose card is shown. */
  link: HTMLAnchorElement | null;
  /** Keeps the card while the pointer is on it. */
  hold(): void;
  leave(): void;
  close(): void;
}

/** Shows a card for the citation that is hovered, focused or tapped inside the element. */
function useCitationCard(root: RefObject<HTMLElement | null>): CitationCardState {
  const [link, setLink] = useState<HTMLAnchorElement | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const hold = useCallback(() => clearTimeout(timer.current), []);
  const close = useCallback(() => {
    clearTimeout(timer.current);
    setLink(null);
  }, []);
  const leave = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(close, LEAVE_MS);
  }, [close]);

  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const show = (event: Event) => {
      const found = citationAt(event);
      if (found === undefined) return;
      hold();
      setLink(found);
    };
    const hide = (event: Event) => citationAt(event) !== undefined && leave();
    const press = (event: Event) => {
      const found = citationAt(event);
      if (found === undefined) return;
      // The address of the page is its route: a citation must not change it.
      event.preventDefault();
      hold();
      setLink(found);
    };
    const listening = new AbortController();
    const { signal } = listening;
    element.addEventListener('pointerover', (event) => event.pointerType === 'mouse' && show(event), {
      signal,
    });
    element.addEventListener('pointerout', (event) => event.pointerType === 'mouse' && hide(event), {
      signal,
    });
    element.addEventListener('focusin', show, { signal });
    element.addEventListener('focusout', hide, { signal });
    element.addEventListener('click', press, { signal });
    return () => listening.abort();
  }, [root, hold, leave]);

  useEffect(() => {
    if (link === null) return;
    const listening = new AbortController();
    const { signal } = listening;
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close();
    const onPress = (event: Event) => {
      const inside = event.target instanceof Element && event.target.closest('[data-citation-card]') !== null;
      if (!inside && citationAt(event) === undefined) close();
    };
    document.addEventListener('keydown', onKey, { signal });
    document.addEventListener('pointerdown', onPress, { signal });
    return () => listening.abort();
  }, [link, close]);

  return { link, hold, leave, close };
}

function citationAt(event: Event): HTMLAnchorElement | undefined {
  if (!(event.target instanceof Element)) return undefined;
  const found = event.target.closest('a');
  return found !== null && /^#(claim|doubt|source)-\d+$/.test(found.getAttribute('href') ?? '')
    ? found
    : undefined;
}

interface SourceLinkProps {
  url: string;
  /** What of a file is shown first. */
  passage?: string | undefined;
  className: string;
  children: ReactNode;
}

/** Leads to a source: a page opens beside this one, a file over it; what cannot be opened is words alone. */
export function SourceLink({ url, passage, className, children }: SourceLinkProps) {
  const openFile = useFileAt(url);
  if (/^(?:https?:|\/api\/offline\/)/.test(url)) {
    return (
      <a href={url} target="_blank" rel="noopener noreferrer" className={className}>
        {children}
      </a>
    );
  }
  if (openFile === undefined) return children;
  return (
    <button
      type="button"
      onClick={() => openFile(passage)}
      className={`cursor-pointer text-left ${className}`}
    >
      {children}
    </button>
  );
}

/** What a citation leads to. */
interface CitationTarget {
  claim: Claim | undefined;
  source: CitedSource | undefined;
  number: number | undefined;
}

/** The Markdown with its citations as links that say in their address what they lead to. */
export function linkMarks(markdown: string, claims: readonly Claim[]): string {
  return rewriteMarks(markdown, claims, (mark) => `[\\${mark.text.slice(0, -1)}\\]](#${nameOf(mark)})`);
}

function nameOf({ claim, number, isSupported }: CitationMark): string {
  if (claim === undefined) return `source-${number}`;
  return `${isSupported ? 'claim' : 'doubt'}-${claim}`;
}

/** What the link of a citation leads to; undefined for other links. */
export function targetOf(
  href: string,
  claims: readonly Claim[],
  sources: readonly CitedSource[],
): CitationTarget | undefined {
  const [, kind, digits] = /^#(claim|doubt|source)-(\d+)$/.exec(href) ?? [];
  if (kind === undefined) return undefined;
  const claim = kind === 'source' ? undefined : claims[Number(digits)];
  const number = kind === 'source' ? Number(digits) : (claim?.number ?? undefined);
  const isMeant = (source: CitedSource) =>
    claim === undefined || source.id === undefined ? source.number === number : source.id === claim.sourceId;
  return { claim, number, source: number === undefined ? undefined : sources.find(isMeant) };
}

/** The citation read aloud. */
export function labelOf({ claim, number, source }: CitationTarget): string {
  const title = source === undefined ? '' : `: ${source.title}`;
  if (number === undefined) return 'No source bears this out';
  if (claim === undefined) return `Source ${number}${title}`;
  return `Source ${number}${title}, ${citationState(claim)}`;
}
