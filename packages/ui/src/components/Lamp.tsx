import { cva, type VariantProps } from 'class-variance-authority';
import type { ReactNode } from 'react';
import { cn } from '../lib/cn.ts';

const look = cva(
  'inline-flex h-5 items-center gap-1 rounded-small px-1.5 font-medium font-sans text-12 whitespace-nowrap [&_svg]:size-3',
  {
    variants: {
      tone: {
        plain: 'bg-idle-wash text-idle-text',
        accent: 'bg-accent-wash text-accent-text',
        live: 'bg-live-wash text-live-text',
        waiting: 'bg-waiting-wash text-waiting-text',
        failed: 'bg-failed-wash text-failed-text',
      },
    },
    defaultVariants: { tone: 'plain' },
  },
);

export type LampState = 'live' | 'done' | 'waiting' | 'failed' | 'idle';

interface LampProps {
  state: LampState;
  /** What the state is called here; a plain word for it by default. */
  word?: string | undefined;
  /** Only the dot is seen; the word is still read aloud. */
  dotOnly?: boolean;
  size?: 'small' | 'normal';
  className?: string | undefined;
}

const WORDS: Record<LampState, string> = {
  live: 'Live',
  done: 'Done',
  waiting: 'Waiting',
  failed: 'Failed',
  idle: 'Idle',
};

const COLOURS: Record<LampState, string> = {
  live: 'text-live',
  done: 'text-live',
  waiting: 'text-waiting',
  failed: 'text-failed',
  idle: 'text-idle',
};

const TEXT_COLOURS: Record<LampState, string> = {
  live: 'text-live-text',
  done: 'text-live-text',
  waiting: 'text-waiting-text',
  failed: 'text-failed-text',
  idle: 'text-idle-text',
};

/** A state as a dot with a word. Each state has a shape of its own, so that colour is never alone. */
export function Lamp({ state, word = WORDS[state], dotOnly = false, size = 'normal', className }: LampProps) {
  return (
    <span
      data-lamp={state}
      className={cn(
        'inline-flex items-center gap-1.5 align-middle font-medium text-12 whitespace-nowrap',
        className,
      )}
    >
      <svg
        viewBox="0 0 16 16"
        aria-hidden
        className={cn('shrink-0', size === 'small' ? 'size-3' : 'size-4', COLOURS[state])}
      >
        <Dot state={state} />
      </svg>
      <span className={dotOnly ? 'sr-only' : TEXT_COLOURS[state]}>{word}</span>
    </span>
  );
}

function Dot({ state }: { state: LampState }) {
  if (state === 'live') return <Glow />;
  if (state === 'done') return <Tick />;
  if (state === 'waiting') return <HalfDisc />;
  if (state === 'failed') return <CrossedDisc />;
  return <circle cx="8" cy="8" r="3.75" fill="none" stroke="currentColor" strokeWidth="1.5" />;
}

function Glow() {
  return (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" opacity="0.22" />
      <circle cx="8" cy="8" r="4" fill="currentColor" />
    </>
  );
}

function Tick() {
  return (
    <path
      d="m4 8.5 2.75 2.75L12 5.5"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  );
}

function HalfDisc() {
  return (
    <g className="animate-breathe">
      <circle cx="8" cy="8" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M8 4a4 4 0 0 1 0 8z" fill="currentColor" />
    </g>
  );
}

function CrossedDisc() {
  return (
    <>
      <circle cx="8" cy="8" r="5.5" fill="currentColor" />
      <path d="m6 6 4 4m0-4-4 4" stroke="var(--raised)" strokeWidth="1.5" strokeLinecap="round" />
    </>
  );
}

interface LineProps {
  title: ReactNode;
  /** A second row of smaller words. */
  detail?: ReactNode;
  /** Before the title: a lamp or an icon. */
  lead?: ReactNode;
  /** At the end: a value, a time, buttons. */
  trail?: ReactNode;
  /** Something flows here now. */
  lit?: boolean;
  /** The one that is open in the inspector. */
  selected?: boolean;
  /** Makes the title a link over the whole row. */
  href?: string | undefined;
  /** Makes the title a button over the whole row. */
  onOpen?: (() => void) | undefined;
}

/** One row of words; two on a phone, where the time beside them leaves too few. */
const CUT = 'max-sm:line-clamp-2 max-sm:break-words sm:truncate';

/** A row that can light up. Stands in a list: <ul> of lines. */
export function Line({ title, detail, lead, trail, lit = false, selected = false, href, onOpen }: LineProps) {
  const opens = href !== undefined || onOpen !== undefined;
  return (
    <li
      data-lit={lit || undefined}
      className={cn(
        'relative flex min-h-12 items-center gap-3 border-line border-b px-4 py-2 last:border-b-0',
        ground(lit, selected),
        opens && !lit && 'transition-colors hover:bg-hover has-focus-visible:bg-hover',
      )}
    >
      <Wire lit={lit} selected={selected} />
      {lead && <span className="flex shrink-0 items-center text-muted [&_svg]:size-4">{lead}</span>}
      <div className="min-w-0 flex-1">
        <div className={cn('font-medium', CUT)}>
          <Opener href={href} onOpen={onOpen} selected={selected}>
            {title}
          </Opener>
        </div>
        {detail && <div className="text-12 text-muted">{detail}</div>}
      </div>
      {trail && <div className="relative flex shrink-0 items-center gap-2 text-12 text-muted">{trail}</div>}
    </li>
  );
}

function ground(lit: boolean, selected: boolean): string | false {
  if (lit) return 'bg-accent-wash';
  return selected && 'bg-hover';
}

// The wire at the left edge; a pulse runs down it while the line is lit.
function Wire({ lit, selected }: { lit: boolean; selected: boolean }) {
  if (!lit && !selected) return null;
  return (
    <span aria-hidden className="absolute inset-y-0 left-0 w-0.5 overflow-hidden bg-accent/40">
      {lit ? (
        <span className="block h-1/2 w-full animate-flow-down bg-accent-strong" />
      ) : (
        <span className="block h-full bg-accent-strong" />
      )}
    </span>
  );
}

type OpenerProps = Pick<LineProps, 'href' | 'onOpen' | 'selected'> & { children: ReactNode };

function Opener({ href, onOpen, selected, children }: OpenerProps) {
  const cover = 'cursor-pointer text-left after:absolute after:inset-0';
  if (href !== undefined) {
    return (
      <a href={href} className={cover} aria-current={selected ? 'true' : undefined}>
        {children}
      </a>
    );
  }
  if (onOpen === undefined) return children;
  return (
    <button
      type="button"
      onClick={onOpen}
      className={cn('max-w-full', CUT, cover)}
      aria-current={selected ? 'true' : undefined}
    >
      {children}
    </button>
  );
}

interface BadgeProps extends VariantProps<typeof look> {
  children: ReactNode;
  className?: string;
}

/** A short word about a thing: a kind, a count, a tag. */
export function Badge({ tone, className, children }: BadgeProps) {
  return <span className={cn(look({ tone }), className)}>{children}</span>;
}
