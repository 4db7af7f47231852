// Says what is wrong with the values of a form, each under the path of its field ("address.city").
import { choicesOf, type FormValues, fieldsOf, isRecord, type JsonSchema, kindOf, typeOf } from './schema.ts';

export type FormErrors = Readonly<Record<string, string>>;

export function checkValues(schema: JsonSchema, values: FormValues, path = ''): FormErrors {
  const found = fieldsOf(schema).flatMap(([name, field]): [string, string][] => {
    const place = path === '' ? name : `${path}.${name}`;
    const value = values[name];
    if (kindOf(field) === 'group') {
      return Object.entries(checkValues(field, isRecord(value) ? value : {}, place));
    }
    const words = isEmpty(value) ? missing(schema, name) : wrong(field, value);
    return words === undefined ? [] : [[place, words]];
  });
  return Object.fromEntries(found);
}

/** Text that could not be read as what its field holds; it is named as wrong until it is mended. */
export class Unreadable {
  readonly text: string;
  readonly words: string;

  constructor(text: string, words: string) {
    this.text = text;
    this.words = words;
  }
}

function missing({ required = [] }: JsonSchema, name: string): string | undefined {
  return required.includes(name) ? 'Fill this in.' : undefined;
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

function wrong(schema: JsonSchema, value: unknown): string | undefined {
  if (value instanceof Unreadable) return value.words;
  const choices = choicesOf(schema);
  if (choices.length > 0 && !choices.some((choice) => choice.value === value))
    return 'Choose one of the list.';
  if (typeof value === 'string') return wrongText(schema, value);
  if (typeof value === 'number') return wrongNumber(schema, value);
  return Array.isArray(value) ? wrongList(schema, value) : undefined;
}

function wrongText({ minLength, maxLength, pattern, format }: JsonSchema, text: string): string | undefined {
  if (minLength !== undefined && text.length < minLength) return `At least ${minLength} characters.`;
  if (maxLength !== undefined && text.length > maxLength) return `At most ${maxLength} characters.`;
  if (pattern !== undefined && !matches(pattern, text)) return `It must match ${pattern}.`;
  if (format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(text))
    return 'Give a mail address, such as name@example.org.';
  if ((format === 'uri' || format === 'url') && !URL.canParse(text))
    return 'Give a whole address, such as https://example.org.';
  return undefined;
}

function wrongNumber(schema: JsonSchema, value: number): string | undefined {
  const { minimum, maximum } = schema;
  if (typeOf(schema) === 'integer' && !Number.isInteger(value)) return 'Give a whole number.';
  if (minimum !== undefined && value < minimum) return `At least ${minimum}.`;
  return maximum !== undefined && value > maximum ? `At most ${maximum}.` : undefined;
}

function wrongList({ minItems, maxItems }: JsonSchema, list: readonly unknown[]): string | undefined {
  if (minItems !== undefined && list.length < minItems) return `At least ${minItems}.`;
  return maxItems !== undefined && list.length > maxItems ? `At most ${maxItems}.` : undefined;
}

// A pattern that this browser cannot read is left to the service.
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}
