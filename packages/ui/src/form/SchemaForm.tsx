import { Fragment, type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { checkValues, type FormErrors } from './check.ts';
import { SchemaField } from './SchemaField.tsx';
import {
  type FormValues,
  fieldsOf,
  isRecord,
  type JsonSchema,
  labelOf,
  startValues,
  type UiSchema,
} from './schema.ts';

export interface SchemaFormProps {
  schema: JsonSchema;
  ui?: UiSchema;
  /** Fields that are shown in another way than their schema says. */
  fields?: CustomFields;
  /** Stands in the fields at first, before the defaults of the schema. */
  values?: FormValues;
  /** Only called with values that the schema allows. */
  onSubmit(values: FormValues): void;
  /** The buttons; the one that sends has the type "submit". */
  actions: ReactNode;
  disabled?: boolean;
}

export type CustomFields = Readonly<Record<string, (field: CustomField) => ReactNode>>;

interface CustomField {
  label: string;
  value: unknown;
  /** Of all fields. */
  values: FormValues;
  error: string | undefined;
  onChange(value: unknown): void;
}

/** A form made from a JSON schema. Mistakes are named at their fields when it is sent, and the first gets the focus. */
export function SchemaForm({
  schema,
  ui = {},
  fields = {},
  values: given,
  onSubmit,
  actions,
  disabled = false,
}: SchemaFormProps) {
  const [values, setValues] = useState<FormValues>(() => ({ ...startValues(schema), ...given }));
  const [tried, setTried] = useState(false);
  const errors = tried ? checkValues(schema, values) : {};
  const submit = (form: HTMLFormElement) => {
    flushSync(() => setTried(true));
    if (Object.keys(checkValues(schema, values)).length === 0) onSubmit(withoutEmpty(values));
    else form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  };
  return (
    <form
      noValidate
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <fieldset disabled={disabled} className="flex min-w-0 flex-col gap-4">
        <SchemaFields
          schema={schema}
          ui={ui}
          fields={fields}
          values={values}
          errors={errors}
          path=""
          onChange={setValues}
        />
      </fieldset>
      <div className="flex flex-wrap justify-end gap-2">{actions}</div>
    </form>
  );
}

interface SchemaFieldsProps {
  schema: JsonSchema;
  ui: UiSchema;
  fields: CustomFields;
  values: FormValues;
  errors: FormErrors;
  path: string;
  onChange(values: FormValues): void;
}

function SchemaFields({ schema, ui, fields, values, errors, path, onChange }: SchemaFieldsProps) {
  return fieldsOf(schema, ui).map(([name, field]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const hints = isRecord(ui[name]) ? ui[name] : {};
    const change = (value: unknown) => onChange({ ...values, [name]: value });
    const custom = fields[name];
    if (custom !== undefined) {
      const shown = { label: labelOf(name, field), value: values[name], values, error: errors[place] };
      return <Fragment key={name}>{custom({ ...shown, onChange: change })}</Fragment>;
    }
    return (
      <SchemaField
        key={name}
        name={name}
        schema={field}
        ui={hints}
        required={schema.required?.includes(name) ?? false}
        value={values[name]}
        error={errors[place]}
        onChange={change}
      >
        {(inner) => (
          <SchemaFields
            schema={field}
            ui={hints}
            fields={{}}
            values={inner}
            errors={errors}
            path={place}
            onChange={change}
          />
        )}
      </SchemaField>
    );
  });
}

// What was left empty is left out, so that the service does not take it for an answer.
function withoutEmpty(values: FormValues): FormValues {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => [name, isRecord(value) ? withoutEmpty(value) : value]),
  );
}
