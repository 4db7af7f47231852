import { describe, expect, it } from 'vitest';
import { checkValues, Unreadable } from './check.ts';
import { choicesOf, fieldsOf, type JsonSchema, kindOf, labelOf, startValues } from './schema.ts';

describe('the fields of a form', () => {
  it.each([
    [{ type: 'string' }, 'text'],
    [{ type: 'string', maxLength: 1000 }, 'area'],
    [{ type: ['string', 'null'] }, 'text'],
    [{ enum: ['a', 'b'] }, 'choice'],
    [{ oneOf: [{ const: 1, title: 'One' }, { const: 2 }] }, 'choice'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'json'],
    [{ type: 'integer' }, 'number'],
    [{ type: 'boolean' }, 'toggle'],
    [{ type: 'array', items: { enum: ['x'] } }, 'choices'],
    [{ type: 'array', items: { type: 'string' } }, 'lines'],
    [{ type: 'array', items: { type: 'object' } }, 'json'],
    [{ properties: {} }, 'group'],
    [{ type: 'object' }, 'json'],
    [{}, 'json'],
  ] as [JsonSchema, string][])('%j is shown as %s', (schema, kind) => {
    expect(kindOf(schema)).toBe(kind);
  });

  it('come in the order asked for, with readable names and their defaults', () => {
    const schema = {
      properties: {
        firstName: { type: 'string', default: 'Ada' },
        home_town: { properties: { zip: { type: 'string', default: '1' } } },
        news: { type: 'boolean' },
      },
    };
    expect(fieldsOf(schema, { 'ui:order': ['news'] }).map(([name]) => name)).toEqual([
      'news',
      'firstName',
      'home_town',
    ]);
    expect(labelOf('firstName', {})).toBe('First name');
    expect(labelOf('home_town', {})).toBe('Home town');
    expect(startValues(schema)).toEqual({ firstName: 'Ada', home_town: { zip: '1' }, news: false });
    expect(choicesOf({ oneOf: [{ const: 1, title: 'One' }] })).toEqual([{ value: 1, label: 'One' }]);
  });
});

describe('what is wrong with values', () => {
  const check = (field: JsonSchema, value: unknown, required: string[] = []) =>
    checkValues({ properties: { it: field }, required }, { it: value }).it;

  it.each([
    [{ type: 'string', minLength: 3 }, 'ab', 'At least 3 characters.'],
    [{ type: 'string', maxLength: 1 }, 'ab', 'At most 1 characters.'],
    [{ type: 'string', pattern: '^a' }, 'b', 'It must match ^a.'],
    [{ type: 'string', pattern: '(' }, 'b', undefined],
    [{ type: 'string', format: 'email' }, 'nobody', 'Give a mail address, such as name@example.org.'],
    [{ type: 'string', format: 'uri' }, 'example', 'Give a whole address, such as https://example.org.'],
    [{ type: 'integer' }, 1.5, 'Give a whole number.'],
    [{ type: 'number', minimum: 2 }, 1, 'At least 2.'],
    [{ type: 'number', maximum: 2 }, 3, 'At most 2.'],
    [{ enum: ['a'] }, 'b', 'Choose one of the list.'],
    [{ type: 'array', items: { type: 'string' }, minItems: 2 }, ['a'], 'At least 2.'],
    [{ type: 'number' }, new Unreadable('x', 'Give a number.'), 'Give a number.'],
    [{ type: 'string' }, 'fine', undefined],
  ] as [JsonSchema, unknown, string | undefined][])('%j with %j', (field, value, words) => {
    expect(check(field, value)).toBe(words);
  });

  it('names what is missing, and only that, also within groups', () => {
    const schema = {
      required: ['name'],
      properties: {
        name: { type: 'string' },
        nick: { type: 'string', minLength: 2 },
        home: { required: ['city'], properties: { city: { type: 'string' } } },
      },
    };
    expect(checkValues(schema, { nick: '' })).toEqual({
      name: 'Fill this in.',
      'home.city': 'Fill this in.',
    });
  });
});
