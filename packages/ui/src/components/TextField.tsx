import type { ComponentProps } from 'react';
import { cn } from '../lib/cn.ts';
import { controlClass, Field, type FieldWords } from './Field.tsx';

export interface TextFieldProps extends FieldWords, Omit<ComponentProps<'input'>, 'id'> {
  /** For keys, ids and addresses. */
  mono?: boolean;
}

export function TextField({ label, hint, error, mono = false, className, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(control) => (
        <input
          type="text"
          {...rest}
          {...control}
          className={cn(controlClass, 'h-9 pointer-coarse:h-11', mono && 'font-mono')}
        />
      )}
    </Field>
  );
}
