import { cva, type VariantProps } from 'class-variance-authority';
import { Check, Copy, X } from 'lucide-react';
import { type ComponentProps, type ReactNode, useEffect, useState } from 'react';
import { cn } from '../lib/cn.ts';
import { Tooltip } from './Tooltip.tsx';

const SHOWN_MS = 2_000;

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

interface CopyButtonProps {
  value: string;
  /** What is copied, for the tooltip: "Copy the task id". */
  label: string;
  className?: string | undefined;
}

type Outcome = 'copied' | 'failed';

export function CopyButton({ value, label, className }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const words = outcome === 'copied' ? 'Copied' : 'Could not copy: select the text instead';
  return (
    <>
      <IconButton
        label={outcome === null ? label : words}
        icon={outcome === 'copied' ? <Check aria-hidden /> : <Copy aria-hidden />}
        onClick={async () => setOutcome((await copyText(value)) ? 'copied' : 'failed')}
        small
        className={className}
      />
      <span role="status" className="sr-only">
        {outcome && words}
      </span>
    </>
  );
}

/** Puts text on the clipboard; false when the browser refuses. */
async function copyText(text: string): Promise<boolean> {
  // The clipboard is closed to pages over plain http on another machine; the old way still works there.
  if (navigator.clipboard === undefined) return copyBySelection(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  // Inside an open dialog, since it takes the focus back from everything outside.
  (focused?.closest('[role=dialog]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
