import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, parseYaml } from '../index.ts';

const ENV = {
  HOST: 'gateway.test',
  PORT: '4000',
  KEY: '0123',
  BLANK: ' ',
  ON: 'true',
  REF: `\${HOST}`,
  COLON: 'a: b',
};
const anything = z.record(z.string(), z.unknown());

function parse(text: string, schema: z.ZodType = anything) {
  return parseYaml(text, schema, { file: 'a.yaml', env: ENV });
}

function problems(text: string, schema: z.ZodType = anything): readonly string[] {
  try {
    parse(text, schema);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('variables in YAML', () => {
  it.each([
    [`a: \${HOST}`, 'gateway.test'],
    [`a: http://\${HOST}:\${PORT}/v1`, 'http://gateway.test:4000/v1'],
    [`a: \${NONE:-fallback}`, 'fallback'],
    [`a: \${HOST:-fallback}`, 'gateway.test'],
    [`a: \${BLANK:-fallback}`, 'fallback'],
    [`a: "\${NONE:-}"`, ''],
    [`a: "\${NONE:-two words: here}"`, 'two words: here'],
    [`a: \${NONE:-\${HOST}}`, 'gateway.test'],
    [`a: \${NONE:-x-\${ALSO_NONE:-y}-z}`, 'x-y-z'],
    [`a: \${HOST:-\${NONE}}`, 'gateway.test'],
    [`a: '\${HOST}'`, 'gateway.test'],
    [`a: |\n  on \${HOST}\n  port \${PORT}\n`, 'on gateway.test\nport 4000\n'],
    [`a: $\${HOST}`, `\${HOST}`],
    ['a: costs $5 or $$', 'costs $5 or $$'],
    [`a: \${REF}`, `\${HOST}`],
    [`a: \${COLON}`, 'a: b'],
  ])('reads %j', (text, expected) => {
    expect(parse(text)).toEqual({ a: expected });
  });

  it('expands in lists and anchored values, not in keys and comments', () => {
    const text = `base: &host \${HOST}\nlist:\n  - *host\n  - \${PORT}\n\${NONE}: key # \${NONE}\n`;
    const expanded = { base: 'gateway.test', list: ['gateway.test', '4000'] };
    expect(parse(text)).toEqual(Object.assign(expanded, JSON.parse(`{"\${NONE}": "key"}`)));
  });

  it('leaves everything alone when told to', () => {
    expect(parseYaml(`a: \${HOST}`, anything, { file: 'a.yaml', env: ENV, expand: false })).toEqual({
      a: `\${HOST}`,
    });
  });

  it('keeps a key of digits a text, and gives a number where one is wanted', () => {
    const schema = z.object({
      key: z.string(),
      port: z.number(),
      on: z.boolean(),
      other: z.union([z.number(), z.literal('auto')]),
    });
    const text = `key: \${KEY}\nport: \${PORT}\non: \${ON}\nother: \${PORT:-auto}\n`;
    expect(parse(text, schema)).toEqual({ key: '0123', port: 4000, on: true, other: 4000 });
  });

  it('takes quotes at their word', () => {
    expect(problems(`port: "\${PORT}"`, z.object({ port: z.number() }))).toEqual([
      'a.yaml:1:7: port: expected a number, found a text',
    ]);
    expect(problems(`port: \${HOST}`, z.object({ port: z.number() }))).toEqual([
      'a.yaml:1:7: port: expected a number, found a text',
    ]);
  });

  it('names variable, file and line of what is not set', () => {
    expect(problems(`a: 1\nb: http://\${NONE}/x\nc: \${BLANK}\n`)).toEqual([
      `a.yaml:2:11: the variable NONE is not set; set it, or write \${NONE:-default}`,
      `a.yaml:3:4: the variable BLANK is not set; set it, or write \${BLANK:-default}`,
    ]);
    expect(problems(`a: |\n  first\n  second \${NONE}\n`)[0]).toMatch(/^a\.yaml:3:10: the variable NONE/);
  });

  it.each([
    `a: \${`,
    `a: \${}`,
    `a: "\${HOST"`,
    `a: \${1A}`,
    `a: \${HOST-x}`,
    `a: "\${HOST:-x"`,
    `a: "\${A:-\${B:-x}"`,
  ])('refuses %j', (text) => {
    expect(problems(text)).toEqual([
      expect.stringMatching(/^a\.yaml:1:\d+: (expected \$\{NAME\} or|a \$\{ is never closed)/),
    ]);
  });

  it('asks for quotes where braces mean something else', () => {
    expect(problems(`a: [\${HOST}]`)).toEqual([
      expect.stringContaining(`put quotes around a value with \${...}`),
    ]);
  });

  it('reads the environment of the process when given none', () => {
    expect(parseYaml(`a: \${PATH}`, anything, { file: 'a.yaml' })).toEqual({ a: process.env.PATH });
  });

  it('gives back any text whose references are escaped', () => {
    const property = fc.property(
      fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ':', '-', ' ', '\n') }),
      (text) => {
        const escaped = text.replaceAll(`\${`, () => `$\${`);
        expect(parse(`a: ${JSON.stringify(escaped)}`)).toEqual({ a: text });
      },
    );
    fc.assert(property, { numRuns: 300 });
  });
});
