import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, parseYaml } from '../index.ts';

const roster = z.strictObject({
  users: z.array(
    z.strictObject({
      id: z.string(),
      role: z.enum(['admin', 'user']).optional(),
      age: z.number().min(1).optional(),
    }),
  ),
  defaults: z.record(z.string(), z.unknown()).optional(),
});

function parse<Schema extends z.ZodType>(text: string, schema: Schema, env: Record<string, string> = {}) {
  return parseYaml(text, schema, { file: 'users.yaml', env });
}

function problems(
  text: string,
  schema: z.ZodType = roster,
  env: Record<string, string> = {},
): readonly string[] {
  try {
    parse(text, schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('reading YAML', () => {
  it('reads a text into the shape of a schema', () => {
    expect(parse('users:\n  - id: ada\n    role: admin\n', roster)).toEqual({
      users: [{ id: 'ada', role: 'admin' }],
    });
  });

  it('reads anchors, aliases and merged maps', () => {
    const text =
      'defaults: &base\n  role: user\n  age: 3\nusers:\n  - <<: *base\n    id: ada\n    age: 4\n  - {<<: *base, id: bob}\n';
    expect(parse(text, roster).users).toEqual([
      { id: 'ada', role: 'user', age: 4 },
      { id: 'bob', role: 'user', age: 3 },
    ]);
  });

  it('reads CRLF and a byte order mark', () => {
    expect(parse('\uFEFFusers:\r\n  - id: ada\r\n', roster)).toEqual({ users: [{ id: 'ada' }] });
  });

  it('gives an empty file as no value, so that a default applies', () => {
    expect(parse('# nothing yet\n', z.object({ a: z.number() }).default({ a: 1 }))).toEqual({ a: 1 });
    expect(problems('')).toEqual(['users.yaml:1:1: is missing; expected a map']);
  });

  it('takes keys for texts', () => {
    expect(parse('1: a\ntrue: b\n', z.record(z.string(), z.string()))).toEqual({ 1: 'a', true: 'b' });
  });

  it('sets no prototype', () => {
    const value = parse('__proto__: {polluted: true}\n', z.unknown());
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('what does not fit the schema', () => {
  it.each([
    ['users: 5\n', 'users.yaml:1:8: users: expected a list, found a number'],
    ['users:\n  - id: 5\n', 'users.yaml:2:9: users[0].id: expected a text, found a number'],
    ['users:\n  - role: user\n', 'users.yaml:2:5: users[0].id: is missing; expected a text'],
    [
      'users:\n  - id: a\n    role: root\n',
      'users.yaml:3:11: users[0].role: expected one of "admin", "user"',
    ],
    [
      'users:\n  - id: a\n    rol: user\n',
      'users.yaml:3:5: users[0]: unknown key "rol"; did you mean "role"?',
    ],
    ['users: []\nfriends: []\n', 'users.yaml:2:1: unknown key "friends"; expected users, defaults'],
    ['users:\n  - id: a\n    age: 0\n', 'users.yaml:3:10: users[0].age: expected number to be >=1'],
    ['users:\n  - id:\n', 'users.yaml:2:8: users[0].id: expected a text, found nothing'],
    ['users:\n  - [a]\n', 'users.yaml:2:5: users[0]: expected a map, found a list'],
    ['defaults:\n  a: 1\n', 'users.yaml:1:1: users: is missing; expected a list'],
  ])('says where it is and what was expected: %j', (text, problem) => {
    expect(problems(text)).toEqual([problem]);
  });

  it('tells two errors of one file, in order', () => {
    expect(problems('users:\n  - id: 5\n  - id: b\n    extra: 1\n    role: x\n')).toEqual([
      'users.yaml:2:9: users[0].id: expected a text, found a number',
      'users.yaml:4:5: users[1]: unknown key "extra"; expected id, role, age',
      'users.yaml:5:11: users[1].role: expected one of "admin", "user"',
    ]);
  });

  it('finds the line of what came through an anchor or a merge', () => {
    const text = 'defaults: &base\n  role: root\nusers:\n  - <<: *base\n    id: a\n';
    expect(problems(text)).toEqual(['users.yaml:2:9: users[0].role: expected one of "admin", "user"']);
    const alias = 'defaults: {x: &five 5}\nusers:\n  - id: *five\n';
    expect(problems(alias)).toEqual(['users.yaml:3:9: users[0].id: expected a text, found a number']);
  });

  it('counts lines right with CRLF and a byte order mark', () => {
    expect(problems('\uFEFFusers:\r\n  - id: a\r\n    age: x\r\n')).toEqual([
      'users.yaml:3:10: users[0].age: expected a number, found a text',
    ]);
  });

  it('points into the branch of a union that was meant', () => {
    const schema = z.object({
      delegates: z.array(z.union([z.string(), z.strictObject({ name: z.string(), url: z.string() })])),
    });
    expect(problems('delegates:\n  - name: a\n    url: 5\n', schema)).toEqual([
      'users.yaml:3:10: delegates[0].url: expected a text, found a number',
    ]);
    expect(problems('delegates:\n  - name: a\n    url: b\n    ulr: c\n', schema)).toEqual([
      'users.yaml:4:5: delegates[0]: unknown key "ulr"; did you mean "url"?',
    ]);
    expect(problems('delegates:\n  - 5\n', schema)).toEqual([
      'users.yaml:2:5: delegates[0]: expected a text or a map, found a number',
    ]);
  });

  it('names the kinds of a discriminated union', () => {
    const schema = z.discriminatedUnion('type', [
      z.object({ type: z.literal('a') }),
      z.object({ type: z.literal('b') }),
    ]);
    expect(problems('type: c\n', schema)[0]).toMatch(/^users\.yaml:1:7: type: /);
  });

  it('tells the words of a schema of its own', () => {
    const schema = z.object({
      at: z.string().refine((text) => text.includes(':'), 'expected a time such as 08:30'),
    });
    expect(problems('at: noon\n', schema)).toEqual(['users.yaml:1:5: at: expected a time such as 08:30']);
  });

  it('keeps count when there is a great deal wrong', () => {
    const text = `users:\n${'  - id: 5\n'.repeat(50)}`;
    expect(() => parse(text, roster)).toThrow(/and 30 more$/);
  });
});

describe('what is no YAML', () => {
  it.each([
    ['users:\n  - id: "a\n', /^users\.yaml:\d:\d+: something is missing here/],
    ['users:\n\t- id: a\n', /^users\.yaml:2:1: a tab cannot indent; use blanks$/],
    ['users: []\nusers: []\n', /^users\.yaml:2:1: the key "users" stands twice in the same map$/],
    ['users: []\n---\nusers: []\n', /^users\.yaml:2:1: the file holds a second document/],
    [
      'users: *nobody\n',
      /^users\.yaml:1:8: no anchor of this name stands before the alias; put a text that begins with \* in quotes$/,
    ],
    ['users: !secret x\n', /^users\.yaml:1:8: unknown tag/],
    ['users: !!binary aGk=\n', /^users\.yaml:1:8: unknown tag/],
    ['? [a]\n: b\n', /^users\.yaml:1:3: a key must be a plain text$/],
    ['note: a: b\n', /^users\.yaml:1:7: a value with a colon and a blank in it must be in quotes/],
  ])('says where and why: %j', (text, problem) => {
    expect(problems(text)).toEqual([expect.stringMatching(problem)]);
  });

  it.each([
    ['{api_key:sk-proj-Abc123def456}', '1:2: unknown key "api_key…"; put a blank behind the colon'],
    ['{api_key=hunter-two-three}', '1:2: unknown key "api_key…"; put a blank behind the colon'],
    ['api_key sk-proj-Abcdef: x', '1:1: unknown key "api_key [hidden]"; expected api_key, prices'],
    ['sk-proj-Abcdef: x', '1:1: unknown key "[hidden]"; expected api_key, prices'],
    ['AKIAIOSFODNN7EXAMPLE: x', '1:1: unknown key "[hidden]"; expected api_key, prices'],
    ['sk-proj-Abcdef: x\nsk-proj-Abcdef: y', '2:1: the key "[hidden]" stands twice in the same map'],
    ['prices: {sk-proj-Abcdef: x}', '1:26: prices.[hidden]: expected a number, found a text'],
    [
      'api_key: *Tr0ub4dor',
      '1:10: no anchor of this name stands before the alias; put a text that begins with * in quotes',
    ],
    ['prices: {model-4o-2024-07-18: x}', '1:31: prices.model-4o-2024-07-18: expected a number, found a text'],
  ])('quote no secret that a slip made a name: %s', (text, expected) => {
    const schema = z.strictObject({
      api_key: z.string().optional(),
      prices: z.record(z.string(), z.number()).optional(),
    });
    expect(problems(text, schema)).toEqual([`users.yaml:${expected}`]);
  });

  it('tells every key that stands twice', () => {
    expect(problems('a: 1\na: 2\nb: 3\nb: 4\n')).toEqual([
      'users.yaml:2:1: the key "a" stands twice in the same map',
      'users.yaml:4:1: the key "b" stands twice in the same map',
    ]);
  });

  it('does not quote what may be a secret', () => {
    const told = [
      'users: "sk-hidden',
      'key: sk-hidden: x',
      'a: 1\nsk-hidden',
      '{key: sk-hidden',
      'key: "sk-hidden\\q"',
      '- sk-hidden\nkey: 1',
    ];
    for (const text of told) {
      expect(problems(text).length).toBeGreaterThan(0);
      expect(problems(text).join()).not.toContain('sk-hidden');
    }
  });

  it('refuses aliases that multiply', () => {
    const levels = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh'])
      levels.push(`${to}: &${to} [${`*${from},`.repeat(10)}]`);
    expect(problems(levels.join('\n'), z.unknown())).toEqual([
      'users.yaml:1:1: aliases (*name) multiply too much; at most 1000 are expanded',
    ]);
  });

  it('refuses an alias inside its own anchor', () => {
    expect(problems('a: &a {b: *a}\n', z.json())).toEqual([
      'users.yaml:1:1: an alias (*name) leads back into its own anchor',
    ]);
  });

  it('refuses what is nested beyond reason', () => {
    expect(problems('['.repeat(20_000), z.unknown())[0]).toContain('too many levels inside each other');
  });
});

describe('expand', () => {
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
});
