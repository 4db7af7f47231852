import type { ReactNode } from 'react';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../components/Field.tsx';
import { Unreadable } from './check.ts';
import {
  choicesOf,
  type FormValues,
  isRecord,
  type JsonSchema,
  kindOf,
  labelOf,
  type UiSchema,
} from './schema.ts';

interface SchemaFieldProps {
  name: string;
  schema: JsonSchema;
  ui: UiSchema;
  required: boolean;
  value: unknown;
  error: string | undefined;
  onChange(value: unknown): void;
  /** Renders the fields of a group. */
  children(values: FormValues): ReactNode;
}

/** One field of a form, by what its schema says. */
export function SchemaField(props: SchemaFieldProps) {
  const { schema, ui, value, onChange } = props;
  switch (kindOf(schema, ui)) {
    case 'toggle':
      return <CheckboxField {...labelsOf(props)} checked={value === true} onChange={onChange} />;
    case 'choice':
      return <ChoiceField {...props} />;
    case 'choices':
      return <ChoicesField {...props} />;
    case 'group':
      return <GroupField {...props} />;
    case 'number':
      return <TextField {...labelsOf(props)} {...typing(props, readNumber)} inputMode="decimal" />;
    case 'lines':
      return (
        <TextAreaField
          {...labelsOf(props)}
          hint={schema.description ?? 'One on each line.'}
          value={Array.isArray(value) ? value.join('\n') : ''}
          onChange={(event) => onChange(event.target.value.split('\n'))}
          onBlur={() => Array.isArray(value) && onChange(value.filter((line) => line !== ''))}
        />
      );
    case 'json':
      return <TextAreaField {...labelsOf(props)} {...typing(props, readJson, writeJson)} mono />;
    case 'area':
      return <TextAreaField {...labelsOf(props)} {...typing(props, (text) => text)} />;
    case 'text':
      return <TextField {...labelsOf(props)} {...typing(props, (text) => text)} type={inputType(props)} />;
  }
}

function labelsOf({ name, schema, ui, required, error }: SchemaFieldProps) {
  const help = typeof ui['ui:help'] === 'string' ? ui['ui:help'] : undefined;
  const hint = schema.description ?? help;
  const label = labelOf(name, schema);
  return {
    label: required ? label : `${label} (optional)`,
    ...(hint !== undefined && { hint }),
    ...(error !== undefined && { error }),
  };
}

// What the field shows, and what its text means; text that means nothing is kept as it was typed.
function typing(
  { value, ui, schema, onChange }: SchemaFieldProps,
  read: (text: string) => unknown,
  write: (value: unknown) => string = (known) => String(known ?? ''),
) {
  const { 'ui:placeholder': placeholder } = ui;
  return {
    value: value instanceof Unreadable ? value.text : write(value),
    onChange: (event: { target: { value: string } }) => onChange(read(event.target.value)),
    disabled: schema.readOnly ?? false,
    ...(typeof placeholder === 'string' && { placeholder }),
  };
}

const INPUT_TYPES: Record<string, string> = {
  email: 'email',
  uri: 'url',
  url: 'url',
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
  password: 'password',
};

function inputType({ schema, ui }: SchemaFieldProps): string {
  const wanted = ui['ui:widget'] === 'password' ? 'password' : (schema.format ?? '');
  return INPUT_TYPES[wanted] ?? 'text';
}

function readNumber(text: string): unknown {
  if (text.trim() === '') return undefined;
  const number = Number(text.replace(',', '.'));
  return Number.isFinite(number) && !/[.,]$/.test(text) ? number : new Unreadable(text, 'Give a number.');
}

function readJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return new Unreadable(text, 'This is not JSON yet: check quotes, commas and brackets.');
  }
}

function writeJson(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}

function ChoiceField(props: SchemaFieldProps) {
  const { schema, value, onChange } = props;
  const choices = choicesOf(schema);
  const chosen = choices.findIndex((choice) => choice.value === value);
  const options = choices.map(({ label }, index) => ({ value: String(index), label }));
  const none = chosen === -1 || !props.required ? [{ value: '', label: 'Choose' }] : [];
  return (
    <SelectField
      {...labelsOf(props)}
      options={[...none, ...options]}
      value={chosen === -1 ? '' : String(chosen)}
      onChange={({ target }) =>
        onChange(target.value === '' ? undefined : choices[Number(target.value)]?.value)
      }
    />
  );
}

function ChoicesField(props: SchemaFieldProps) {
  const { schema, value, error, onChange } = props;
  const chosen: unknown[] = Array.isArray(value) ? value : [];
  const { label, hint } = labelsOf(props);
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium text-14">{label}</legend>
      {hint && <p className="text-12 text-muted">{hint}</p>}
      {choicesOf(schema.items ?? {}).map((choice) => (
        <CheckboxField
          key={choice.label}
          label={choice.label}
          checked={chosen.includes(choice.value)}
          onChange={(on) =>
            onChange(on ? [...chosen, choice.value] : chosen.filter((item) => item !== choice.value))
          }
        />
      ))}
      {error && (
        <p role="alert" className="font-medium text-12 text-failed-text">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function GroupField({ name, schema, value, children }: SchemaFieldProps) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 rounded-corner border border-line p-4">
      <legend className="px-1 font-medium text-14">{labelOf(name, schema)}</legend>
      {schema.description && <p className="text-12 text-muted">{schema.description}</p>}
      {children(isRecord(value) ? value : {})}
    </fieldset>
  );
}
