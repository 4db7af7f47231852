import { expect, it } from 'vitest';
import { grammarSchema, withoutAbsent } from './schema.ts';

const absent = { type: 'null' };

it('makes optional properties nullable, and takes the nulls away again', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 100_000 },
      note: { type: ['string', 'null'] },
      when: { type: 'string', format: 'date-time', description: 'ISO.' },
      list: { type: 'array', items: { type: 'object', properties: { size: { type: 'integer' } } } },
    },
    required: ['name'],
  };
  expect(grammarSchema(schema)).toEqual({
    type: 'object',
    additionalProperties: false,
    properties: {
      name: { type: 'string' },
      note: { oneOf: [{ type: ['string', 'null'] }, absent] },
      when: { oneOf: [{ type: 'string', format: 'date-time', description: 'ISO.' }, absent] },
      list: {
        oneOf: [
          {
            type: 'array',
            items: {
              type: 'object',
              additionalProperties: false,
              properties: { size: { oneOf: [{ type: 'integer' }, absent] } },
            },
          },
          absent,
        ],
      },
    },
  });
  const written = { name: 'a', note: null, when: null, list: [{ size: null }, { size: 2 }] };
  expect(withoutAbsent(written, schema)).toEqual({ name: 'a', note: null, list: [{}, { size: 2 }] });
});

it('follows references and joins allOf; what a grammar cannot say is any value', () => {
  const schema = {
    $defs: {
      node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['next'] },
      base: { properties: { id: { enum: ['a', 'b'] } }, required: ['id'] },
    },
    allOf: [{ $ref: '#/$defs/base' }, { properties: { kind: { const: 1 } }, required: ['kind'] }],
  };
  expect(grammarSchema(schema)).toMatchObject({
    type: 'object',
    properties: { id: { enum: ['a', 'b'] }, kind: { const: 1 } },
  });
  // A schema without an end becomes any value at some depth.
  expect(JSON.stringify(grammarSchema({ ...schema, allOf: undefined, $ref: '#/$defs/node' }))).toMatch(
    /"array"/,
  );
  expect(grammarSchema({})).toMatchObject({ oneOf: expect.arrayContaining([{ type: 'array' }]) });
  expect(grammarSchema({ type: 'object' })).toEqual({
    type: 'object',
    properties: {},
    additionalProperties: true,
  });
});
