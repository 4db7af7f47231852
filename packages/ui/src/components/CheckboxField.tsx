import { Check } from 'lucide-react';
import { Checkbox } from 'radix-ui';
import { Field, type FieldWords } from './Field.tsx';

export interface CheckboxFieldProps extends FieldWords {
  checked: boolean;
  onChange(checked: boolean): void;
  disabled?: boolean;
}

export function CheckboxField({
  label,
  hint,
  error,
  checked,
  onChange,
  disabled = false,
}: CheckboxFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} inline>
      {(control) => (
        <Checkbox.Root
          {...control}
          checked={checked}
          onCheckedChange={(next) => onChange(next === true)}
          disabled={disabled}
          className="inline-flex size-5 shrink-0 cursor-pointer items-center justify-center rounded-small border border-edge bg-raised transition-colors disabled:cursor-not-allowed disabled:opacity-60 aria-invalid:border-failed data-[state=checked]:border-accent-text data-[state=checked]:bg-accent"
        >
          <Checkbox.Indicator>
            <Check aria-hidden className="size-4 text-accent-ink" strokeWidth={3} />
          </Checkbox.Indicator>
        </Checkbox.Root>
      )}
    </Field>
  );
}
