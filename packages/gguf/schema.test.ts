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

it('reads no more of a schema than a grammar can hold, however often it refers to itself', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const node = { type: 'object', required: names, properties: {} };
  node.properties = Object.fromEntries(names.map((name) => [name, { $ref: '#' }]));
  // Joined thirty times over, each member twice: two to the power of thirty.
  const level = (index: number) => ({ $ref: `#/$defs/level${index}` });
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `level${index}`,
      { allOf: [level(index + 1), level(index + 1)] },
    ]),
  );
  const joined = { $defs, ...level(0) };
  for (const schema of [node, joined, { allOf: [{ $ref: '#' }, { $ref: '#' }] }]) {
    expect(JSON.stringify(grammarSchema(schema)).length).toBeLessThan(400_000);
    expect(withoutAbsent({ a: null }, schema)).toEqual({ a: null });
  }
});
