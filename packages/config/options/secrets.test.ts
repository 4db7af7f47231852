import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ConfigError,
  choice,
  defineOptions,
  integer,
  json,
  list,
  readOptions,
  secretValues,
  text,
  toggle,
  url,
} from '../index.ts';

const secret = { secret: true, doc: '' } as const;
const table = defineOptions('x', 'X', {
  key: text({ env: 'KEY', flag: '--key', ...secret }),
  pin: integer({ env: 'PIN', flag: '--pin', min: 0, max: 9, ...secret }),
  hook: url({ env: 'HOOK', flag: '--hook', ...secret }),
  keys: list({ env: 'KEYS', flag: '--keys', check: () => false, expected: 'keys', ...secret }),
  grants: json({
    env: 'GRANTS',
    flag: '--grants',
    schema: z.strictObject({ a: z.number() }),
    expected: 'JSON',
    ...secret,
  }),
  tier: choice({ env: 'TIER', values: ['one', 'two'], ...secret }),
  port: integer({ env: 'PORT', flag: '--port', doc: '' }),
  ui: choice({ env: 'UI', flag: '--ui', values: ['full', 'none'], doc: '' }),
  address: url({ env: 'ADDRESS', flag: '--address', doc: '' }),
  on: toggle({ env: 'ON', flag: '--on', doc: '' }),
});

const SECRET_NAMES = ['KEY', 'PIN', 'HOOK', 'KEYS', 'GRANTS', 'TIER'] as const;
const SECRET_FLAGS = ['--key', '--pin', '--hook', '--keys', '--grants'] as const;

function messageOf(env: Record<string, string>, argv: readonly string[]): string {
  try {
    readOptions(table, { env, argv });
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return [error.message, ...error.problems, error.stack].join('\n');
    throw error;
  }
}

// A core that occurs in no message by chance, with anything at all around it.
const anySecret = fc
  .tuple(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constant('zQ7#kv'),
    fc.string({ unit: 'binary', maxLength: 90 }),
  )
  .map((parts) => parts.join(''));

describe('errors about options', () => {
  it('never hold a secret, in whatever secret variable it stands', () => {
    const property = fc.property(fc.constantFrom(...SECRET_NAMES), anySecret, (name, value) => {
      expect(messageOf({ [name]: value, PORT: 'x' }, [])).not.toContain('zQ7#kv');
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('never hold a secret that was given as a flag, with or without an equals sign', () => {
    const property = fc.property(
      fc.constantFrom(...SECRET_FLAGS),
      anySecret,
      fc.boolean(),
      (flag, value, joined) => {
        const argv = joined ? [`${flag}=${value}`] : [flag, value];
        expect(messageOf({ PORT: 'x' }, argv)).not.toContain('zQ7#kv');
        expect(messageOf({ PORT: 'x' }, ['--ui', ...argv, '--on'])).not.toContain('zQ7#kv');
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('never hold a secret whose flag was misspelt', () => {
    const property = fc.property(anySecret, fc.boolean(), (value, joined) => {
      fc.pre(!value.startsWith('-'));
      expect(messageOf({}, joined ? [`--kye=${value}`] : ['--kye', value])).not.toContain('zQ7#kv');
      expect(messageOf({}, ['--on', value])).not.toContain('zQ7#kv');
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('never hold a secret that was also given to a variable for all to see', () => {
    const names = fc.constantFrom('PORT', 'UI', 'ADDRESS', 'ON');
    const property = fc.property(names, anySecret, fc.string(), (name, value, around) => {
      fc.pre(value.trim() !== '');
      const env = { KEY: value, [name]: `${around}${value.trim()}${around}` };
      expect(messageOf(env, [])).not.toContain('zQ7#kv');
      expect(messageOf({ KEY: value }, [`--port=${value}`, '--ui', `.${value}`])).not.toContain('zQ7#kv');
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('say what was expected of a secret all the same', () => {
    expect(messageOf({ PIN: '12345' }, [])).toContain(
      'PIN is (a secret, not shown); expected a whole number from 0 to 9',
    );
    const grants = messageOf({ GRANTS: '{"sk-hidden":1}' }, []);
    expect(grants).toContain('GRANTS is (a secret, not shown); expected JSON');
    expect(grants).not.toContain('sk-hidden');
  });

  it('take what follows the flag of a secret for its value, even if it is written like a flag', () => {
    const message = messageOf({}, ['--key', '--sk-hidden', '--port', 'x']);
    expect(message).toContain('--key needs a value');
    expect(message).toContain('--port is "x"');
    expect(message).not.toContain('sk-hidden');
  });

  it('hide the password of an address', () => {
    expect(messageOf({ ADDRESS: 'ftp://me:hunter22@host' }, [])).toContain(
      'ADDRESS is "ftp://[redacted]@host"',
    );
  });
});

describe('secretValues', () => {
  const shared = defineOptions('x', 'X', {
    key: text({ env: 'KEY', ...secret }),
    keys: list({ env: 'KEYS', ...secret }),
    placeholder: text({ env: 'PLACEHOLDER', default: 'not-needed', ...secret }),
    servers: json({
      env: 'SERVERS',
      schema: z.array(z.object({ credential: z.string() })),
      expected: 'JSON',
      ...secret,
    }),
    gateway: url({ env: 'GATEWAY', doc: '' }),
    visible: text({ env: 'VISIBLE', doc: '' }),
  });
  const valuesOf = (env: Record<string, string>) => secretValues(shared, readOptions(shared, { env }));

  it('gathers secret texts, lists, JSON and passwords in addresses', () => {
    const env = {
      KEY: 'key-1',
      KEYS: 'key-2,key-3',
      SERVERS: '[{"credential":"key-4"}]',
      GATEWAY: 'http://me:pass%2Fword@host',
      VISIBLE: 'seen',
    };
    expect(valuesOf(env)).toEqual(['key-1', 'key-2', 'key-3', 'key-4', 'pass%2Fword', 'pass/word']);
  });

  it('leaves out defaults, which everybody can read', () => {
    expect(valuesOf({})).toEqual([]);
    expect(valuesOf({ PLACEHOLDER: 'real' })).toEqual(['real']);
  });

  it('bears an address with a lone percent sign', () => {
    expect(valuesOf({ GATEWAY: 'http://me:100%@host' })).toContain('100%');
  });
});
