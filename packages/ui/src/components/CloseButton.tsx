import { X } from 'lucide-react';
import type { ComponentProps } from 'react';
import { cn } from '../lib/cn.ts';

type CloseButtonProps = Omit<ComponentProps<'button'>, 'children'>;

/** The cross in a corner. Without a tooltip, which would take the first Escape for itself. */
export function CloseButton({ className, ...rest }: CloseButtonProps) {
  return (
    <button
      type="button"
      aria-label="Close"
      {...rest}
      className={cn(
        'inline-flex size-9 shrink-0 cursor-pointer items-center justify-center rounded-corner text-muted transition-colors',
        'hover:bg-hover hover:text-ink pointer-coarse:size-11',
        className,
      )}
    >
      <X aria-hidden className="size-4" />
    </button>
  );
}
