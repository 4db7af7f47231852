import { cn } from '../lib/cn.ts';

interface SkeletonProps {
  /** How many rows of text to come. */
  rows?: number;
  className?: string;
}

const WIDTHS = ['w-3/4', 'w-1/2', 'w-2/3', 'w-2/5'];

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
