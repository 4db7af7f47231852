import { cn } from '../lib/cn.ts';

export type LampState = 'live' | 'waiting' | 'failed' | 'idle';

interface LampProps {
  state: LampState;
  /** What the state is called here; a plain word for it by default. */
  word?: string | undefined;
  /** Only the dot is seen; the word is still read aloud. */
  dotOnly?: boolean;
  size?: 'small' | 'normal';
  className?: string | undefined;
}

const WORDS: Record<LampState, string> = { live: 'Live', waiting: 'Waiting', failed: 'Failed', idle: 'Idle' };

const COLOURS: Record<LampState, string> = {
  live: 'text-live',
  waiting: 'text-waiting',
  failed: 'text-failed',
  idle: 'text-idle',
};

const TEXT_COLOURS: Record<LampState, string> = {
  live: 'text-live-text',
  waiting: 'text-waiting-text',
  failed: 'text-failed-text',
  idle: 'text-idle-text',
};

/** A state as a dot with a word. Each state has a shape of its own, so that colour is never alone. */
export function Lamp({ state, word = WORDS[state], dotOnly = false, size = 'normal', className }: LampProps) {
  return (
    <span
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
