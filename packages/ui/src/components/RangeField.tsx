import type { ComponentProps } from 'react';
import { Field, type FieldWords } from './Field.tsx';

export interface RangeFieldProps
  extends FieldWords,
    Omit<ComponentProps<'input'>, 'id' | 'type' | 'onChange'> {
  value: number;
  min: number;
  max: number;
  step: number;
  onChange(value: number): void;
}

/** A number between two others, by feel; the figure stands beside it. */
export function RangeField({ label, hint, error, className, value, onChange, ...rest }: RangeFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} className={className}>
      {(control) => (
        <div className="flex items-center gap-3">
          <input
            {...rest}
            {...control}
            type="range"
            value={value}
            onChange={(event) => onChange(event.target.valueAsNumber)}
            className="h-6 min-w-0 flex-1 cursor-pointer accent-accent-strong pointer-coarse:h-9"
          />
          <output htmlFor={control.id} className="w-10 text-right font-mono text-12 text-muted">
            {value.toFixed(2)}
          </output>
        </div>
      )}
    </Field>
  );
}
