import type { ComponentProps } from 'react';
import { cn } from '../lib/cn.ts';
import { controlClass, Field, type FieldWords } from './Field.tsx';

export interface TextAreaFieldProps extends FieldWords, Omit<ComponentProps<'textarea'>, 'id'> {
  mono?: boolean;
}

/** Several lines of text; grows with what is typed. */
export function TextAreaField({ label, hint, error, mono = false, className, ...rest }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(control) => (
        <textarea
          rows={3}
          {...rest}
          {...control}
          className={cn(
            controlClass,
            'field-sizing-content max-h-80 min-h-20 resize-y py-2',
            mono && 'font-mono',
          )}
        />
      )}
    </Field>
  );
}
