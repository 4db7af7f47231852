import type { ReactNode } from 'react';
import { cn } from '../lib/cn.ts';
import { Lamp } from './Lamp.tsx';

const WIDTHS = ['w-3/4', 'w-1/2', 'w-2/3', 'w-2/5'];

interface EmptyStateProps {
  icon?: ReactNode;
  /** What is not there yet: "No schedules yet". */
  title: string;
  /** The next step, in words. */
  next: ReactNode;
  /** The next step, as a button. */
  action?: ReactNode;
}

/** Nothing here yet, and what to do about it. */
export function EmptyState({ icon, title, next, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-1 px-4 py-10 text-center">
      {icon && (
        <span className="mb-3 inline-flex size-12 items-center justify-center rounded-full border border-line-strong border-dashed text-muted [&_svg]:size-5">
          {icon}
        </span>
      )}
      <p className="font-semibold text-16">{title}</p>
      <p className="max-w-sm text-14 text-balance text-muted">{next}</p>
      {action && <div className="mt-4">{action}</div>}
    </div>
  );
}

interface ErrorStateProps {
  /** What failed: "The tasks could not be loaded." */
  what: string;
  /** Why, as far as it is known. */
  why: ReactNode;
  /** What to do. */
  todo: ReactNode;
  /** What to do, as a button. */
  action?: ReactNode;
}

/** What failed, why, and what to do. */
export function ErrorState({ what, why, todo, action }: ErrorStateProps) {
  return (
    <div role="alert" className="flex gap-3 rounded-corner bg-failed-wash p-4">
      <Lamp state="failed" dotOnly className="mt-0.5 self-start" />
      <div className="min-w-0 flex-1">
        <p className="font-semibold text-14">{what}</p>
        <p className="text-14 break-words">{why}</p>
        <p className="mt-1 text-14 text-ink">{todo}</p>
        {action && <div className="mt-3">{action}</div>}
      </div>
    </div>
  );
}

interface SkeletonProps {
  /** How many rows of text to come. */
  rows?: number;
  className?: string;
}

/** Stands where content will be in under a second. For longer, show progress with words. */
export function Skeleton({ rows = 3, className }: SkeletonProps) {
  return (
    <div aria-hidden className={cn('flex animate-breathe flex-col gap-3 py-1', className)}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move
        <div key={row} className={cn('h-3 rounded-small bg-line', WIDTHS[row % WIDTHS.length])} />
      ))}
    </div>
  );
}

interface ProgressProps {
  /** What is being done now: "Reading source 3 of 8". */
  words: string;
  /** From 0 to 1; left out when it is not known how far it is. */
  value?: number;
}

/** Work of more than a second: what is being done, and how far it is. */
export function Progress({ words, value }: ProgressProps) {
  const percent = value === undefined ? undefined : Math.round(Math.min(1, Math.max(0, value)) * 100);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex justify-between gap-4 text-14">
        <span aria-live="polite">{words}</span>
        {percent !== undefined && <span className="font-mono text-12 text-muted">{percent} %</span>}
      </div>
      <div
        role="progressbar"
        aria-label={words}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        className="h-1 overflow-hidden rounded-full bg-line"
      >
        <Bar percent={percent} />
      </div>
    </div>
  );
}

function Bar({ percent }: { percent: number | undefined }) {
  if (percent === undefined)
    return <div className="h-full w-1/4 animate-flow rounded-full bg-accent-strong" />;
  return (
    <div
      className="h-full origin-left rounded-full bg-accent-strong transition-transform"
      style={{ transform: `scaleX(${percent / 100})` }}
    />
  );
}
