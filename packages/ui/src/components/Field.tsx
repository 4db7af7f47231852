import { Check, ChevronDown } from 'lucide-react';
import { Checkbox, Switch } from 'radix-ui';
import { type ComponentProps, type ReactNode, useId } from 'react';
import { cn } from '../lib/cn.ts';

/** What every field says about itself. */
interface FieldWords {
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
const controlClass = cn(
  'w-full rounded-corner border border-edge bg-raised px-3 text-14 text-ink transition-colors placeholder:text-muted',
  'hover:border-ink focus-visible:outline-offset-0 aria-invalid:border-failed',
  'disabled:cursor-not-allowed disabled:border-line-strong disabled:bg-sunken disabled:text-muted',
  // Below 16 px a phone zooms into the field.
  'pointer-coarse:text-16',
);

interface ToggleFieldProps extends FieldWords {
  checked: boolean;
  onChange(checked: boolean): void;
  disabled?: boolean;
}

export function CheckboxField({ checked, onChange, disabled = false, ...words }: ToggleFieldProps) {
  return (
    <Field {...words} inline>
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

interface RangeFieldProps extends FieldWords, Omit<ComponentProps<'input'>, 'id' | 'type' | 'onChange'> {
  value: number;
  min: number;
  max: number;
  step: number;
  onChange(value: number): void;
}

/** A slider; its value is shown beside it. */
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

interface SelectFieldProps
  extends FieldWords,
    Omit<ComponentProps<'select'>, 'id' | 'children' | 'multiple'> {
  options: readonly { value: string; label: string }[];
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

/** On or off, at once. For something that takes effect when saved, use a check box. */
export function SwitchField({ checked, onChange, disabled = false, ...words }: ToggleFieldProps) {
  return (
    <Field {...words} inline>
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

interface TextAreaFieldProps extends FieldWords, Omit<ComponentProps<'textarea'>, 'id'> {
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

interface TextFieldProps extends FieldWords, Omit<ComponentProps<'input'>, 'id'> {
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
