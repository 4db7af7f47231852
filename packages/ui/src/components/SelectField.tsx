import { ChevronDown } from 'lucide-react';
import type { ComponentProps } from 'react';
import { cn } from '../lib/cn.ts';
import { controlClass, Field, type FieldWords } from './Field.tsx';

export interface SelectOption {
  value: string;
  label: string;
}

export interface SelectFieldProps
  extends FieldWords,
    Omit<ComponentProps<'select'>, 'id' | 'children' | 'multiple'> {
  options: readonly SelectOption[];
}

/** One of several; the browser's own list, which every phone and screen reader knows. */
export function SelectField({ label, hint, error, options, className, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(control) => (
        <div className="relative">
          <select
            {...rest}
            {...control}
            className={cn(controlClass, 'h-9 cursor-pointer appearance-none pr-9 pointer-coarse:h-11')}
          >
            {options.map((option) => (
              <option key={option.value} value={option.value} className="bg-raised text-ink">
                {option.label}
              </option>
            ))}
          </select>
          <ChevronDown
            aria-hidden
            className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-muted"
          />
        </div>
      )}
    </Field>
  );
}
