// JSON Schema as far as a form can show it; anything else becomes a field for JSON text.

/** A JSON schema, as models and services write it. */
export interface JsonSchema {
  type?: string | readonly string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  oneOf?: readonly JsonSchema[];
  anyOf?: readonly JsonSchema[];
  const?: unknown;
  format?: string;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  readOnly?: boolean;
}

/** Hints on how to show a field: `ui:widget` (textarea, password, radio), `ui:placeholder`, `ui:help`, `ui:order`. */
export type UiSchema = Readonly<Record<string, unknown>>;

export type FieldKind =
  | 'text'
  | 'area'
  | 'number'
  | 'toggle'
  | 'choice'
  | 'choices'
  | 'lines'
  | 'group'
  | 'json';

export interface Choice {
  value: unknown;
  label: string;
}

export type FormValues = Readonly<Record<string, unknown>>;

export function kindOf(schema: JsonSchema, ui: UiSchema = {}): FieldKind {
  if (choicesOf(schema).length > 0) return 'choice';
  const type = typeOf(schema);
  if (type === 'boolean') return 'toggle';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'object') return schema.properties === undefined ? 'json' : 'group';
  if (type === 'array') return arrayKind(schema.items);
  if (type !== 'string') return 'json';
  return ui['ui:widget'] === 'textarea' || (schema.maxLength ?? 0) > 200 ? 'area' : 'text';
}

/** The values that a field may take, when they are listed. */
export function choicesOf(schema: JsonSchema): Choice[] {
  if (schema.enum !== undefined) return schema.enum.map((value) => ({ value, label: String(value) }));
  const variants = schema.oneOf ?? schema.anyOf ?? [];
  if (variants.length === 0 || !variants.every((variant) => 'const' in variant)) return [];
  return variants.map(({ const: value, title }) => ({ value, label: title ?? String(value) }));
}

/** The type that counts; null beside another type says only that the field may stay empty. */
export function typeOf({ type, properties }: JsonSchema): string | undefined {
  const names = typeof type === 'string' ? [type] : (type ?? []);
  return names.find((name) => name !== 'null') ?? (properties === undefined ? undefined : 'object');
}

/** The fields of a form, in the order that is asked for, else as they are written. */
export function fieldsOf({ properties = {} }: JsonSchema, ui: UiSchema = {}): [string, JsonSchema][] {
  const order = Array.isArray(ui['ui:order']) ? ui['ui:order'].map(String) : [];
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(properties).sort(([left], [right]) => place(left) - place(right));
}

/** What a form begins with: the defaults, and for groups theirs. */
export function startValues(schema: JsonSchema): Record<string, unknown> {
  const given = fieldsOf(schema).flatMap(([name, field]): [string, unknown][] => {
    if (field.default !== undefined) return [[name, field.default]];
    if (kindOf(field) === 'group') return [[name, startValues(field)]];
    return kindOf(field) === 'toggle' ? [[name, false]] : [];
  });
  return Object.fromEntries(given);
}

/** What a field is called: its title, else its name made readable. */
export function labelOf(name: string, { title }: JsonSchema): string {
  if (title) return title;
  const words = name.replaceAll(/[_-]+|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function arrayKind(items: JsonSchema | undefined): FieldKind {
  if (items === undefined) return 'json';
  if (choicesOf(items).length > 0) return 'choices';
  return typeOf(items) === 'string' ? 'lines' : 'json';
}
