import type { ComponentProps, ReactNode } from 'react';
import { cn } from '../lib/cn.ts';
import { Tooltip } from './Tooltip.tsx';

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'aria-label' | 'title'> {
  /** What it does; read aloud, and shown on hover and focus. */
  label: string;
  icon: ReactNode;
  side?: 'top' | 'right' | 'bottom' | 'left';
  /** For use inside a row. */
  small?: boolean;
}

export function IconButton({
  label,
  icon,
  side = 'top',
  small = false,
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip text={label} side={side}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={cn(
          'inline-flex shrink-0 cursor-pointer items-center justify-center rounded-corner text-muted transition-colors',
          'hover:bg-hover hover:text-ink disabled:cursor-not-allowed disabled:opacity-50',
          small ? 'size-7 pointer-coarse:size-9' : 'size-9 pointer-coarse:size-11',
          'data-[state=open]:bg-hover data-[state=open]:text-ink [&_svg]:size-4',
          className,
        )}
      >
        {icon}
      </button>
    </Tooltip>
  );
}
