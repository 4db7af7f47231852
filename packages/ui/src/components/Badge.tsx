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

interface BadgeProps extends VariantProps<typeof look> {
  children: ReactNode;
  className?: string;
}

/** A short word about a thing: a kind, a count, a tag. */
export function Badge({ tone, className, children }: BadgeProps) {
  return <span className={cn(look({ tone }), className)}>{children}</span>;
}
