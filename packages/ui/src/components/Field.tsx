import { type ReactNode, useId } from 'react';
import { cn } from '../lib/cn.ts';

/** What every field says about itself. */
export interface FieldWords {
  label: string;
  /** How to fill it in. */
  hint?: ReactNode;
  /** What is wrong and what to do about it. */
  error?: ReactNode;
}

/** What ties the control to its words for a screen reader. */
interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

interface FieldProps extends FieldWords {
  className?: string | undefined;
  /** Label behind the control, as for switches and check boxes. */
  inline?: boolean;
  children(control: ControlProps): ReactNode;
}

/** Label, control, hint and error, tied together. */
export function Field({ label, hint, error, inline = false, className, children }: FieldProps) {
  const id = useId();
  const words = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  const control = children({
    id,
    'aria-describedby': words || undefined,
    'aria-invalid': error ? true : undefined,
  });
  const title = (
    <label htmlFor={id} className={cn('text-14 font-medium', inline && 'cursor-pointer')}>
      {label}
    </label>
  );
  return (
    <div className={cn('flex flex-col gap-1', className)}>
      {inline ? (
        <div className="flex items-center gap-3">
          {control}
          {title}
        </div>
      ) : (
        <>
          {title}
          {control}
        </>
      )}
      {hint && (
        <p id={`${id}-hint`} className="text-12 text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-12 font-medium text-failed-text">
          {error}
        </p>
      )}
    </div>
  );
}

/** The look that text, area and select share. */
export const controlClass = cn(
  'w-full rounded-corner border border-edge bg-raised px-3 text-14 text-ink transition-colors placeholder:text-muted',
  'hover:border-ink focus-visible:outline-offset-0 aria-invalid:border-failed',
  'disabled:cursor-not-allowed disabled:border-line-strong disabled:bg-sunken disabled:text-muted',
  // Below 16 px a phone zooms into the field.
  'pointer-coarse:text-16',
);
