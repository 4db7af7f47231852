import { Switch } from 'radix-ui';
import { Field, type FieldWords } from './Field.tsx';

export interface SwitchFieldProps extends FieldWords {
  checked: boolean;
  onChange(checked: boolean): void;
  disabled?: boolean;
}

/** On or off, at once. For something that takes effect when saved, use a check box. */
export function SwitchField({ label, hint, error, checked, onChange, disabled = false }: SwitchFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} inline>
      {(control) => (
        <Switch.Root
          {...control}
          checked={checked}
          onCheckedChange={onChange}
          disabled={disabled}
          className="inline-flex h-6 w-10 shrink-0 cursor-pointer items-center rounded-full border border-edge bg-sunken px-0.75 transition-colors disabled:cursor-not-allowed disabled:opacity-60 data-[state=checked]:border-accent-text data-[state=checked]:bg-accent"
        >
          <Switch.Thumb className="block size-4 rounded-full bg-edge transition-transform data-[state=checked]:translate-x-4 data-[state=checked]:bg-accent-ink" />
        </Switch.Root>
      )}
    </Field>
  );
}
