import { cva, type VariantProps } from 'class-variance-authority';
import type { ComponentProps, ReactNode } from 'react';
import { cn } from '../lib/cn.ts';

const DISABLED = 'disabled:border-line disabled:bg-sunken';

const look = cva(
  [
    'inline-flex shrink-0 items-center justify-center gap-2 rounded-corner border font-medium whitespace-nowrap',
    'cursor-pointer transition-colors select-none',
    'disabled:cursor-not-allowed disabled:text-muted aria-busy:cursor-progress [&_svg]:size-4 [&_svg]:shrink-0',
  ],
  {
    variants: {
      variant: {
        primary: `border-transparent bg-accent text-accent-ink enabled:hover:bg-accent-hover ${DISABLED}`,
        secondary: `border-line-strong bg-raised text-ink enabled:hover:border-edge enabled:hover:bg-hover ${DISABLED}`,
        quiet: 'border-transparent text-ink enabled:hover:bg-hover',
        danger: `border-transparent bg-danger text-danger-ink enabled:hover:bg-danger-hover ${DISABLED}`,
      },
      size: {
        normal: 'h-9 px-4 text-14 pointer-coarse:h-11',
        small: 'h-7 px-3 text-12 pointer-coarse:h-9',
      },
    },
    defaultVariants: { variant: 'secondary', size: 'normal' },
  },
);

export interface ButtonProps extends ComponentProps<'button'>, VariantProps<typeof look> {
  icon?: ReactNode;
  /** Under way: shown, and not to be pressed again. */
  busy?: boolean;
}

export function Button({
  variant,
  size,
  icon,
  busy = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={cn(look({ variant, size }), className)}
    >
      {icon}
      {children}
    </button>
  );
}

/** For links that look like buttons. */
export function buttonClass(options: VariantProps<typeof look>): string {
  return cn(look(options));
}
