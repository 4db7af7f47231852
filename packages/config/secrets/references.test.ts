import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  ConfigError,
  createLogger,
  defineOptions,
  hideSecrets,
  integer,
  loadEnvironmentFile,
  parseYaml,
  readOptions,
  readVariable,
  redact,
  removeUnreferenced,
  secretReference,
  secretStoreOf,
  secretValues,
  text,
  watchYaml,
} from '../index.ts';

let temporary: TemporaryDirectory;
let env: Record<string, string>;
beforeAll(() => {
  temporary = temporaryDirectory();
  env = { TRUNKLINE_HOME: temporary.path };
  secretStoreOf(env).set('llm', 'sesame-llm-1');
  secretStoreOf(env).set('pin', '4711');
});
afterAll(() => temporary.remove());

const usersOf = (name: string) =>
  secretStoreOf(env)
    .list()
    .find((secret) => secret.name === name)
    ?.users.map(({ user }) => user);

function problemsOf(attempt: () => unknown): readonly string[] {
  try {
    attempt();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('references in variables', () => {
  const table = defineOptions('x', 'X', {
    key: text({ env: 'KEY', secret: true, doc: '' }),
    address: text({ env: 'ADDRESS', doc: '' }),
    pin: integer({ env: 'PIN', doc: '' }),
  });

  it('stand for secrets, whole or as a part, in the environment and in .env', () => {
    const file = join(temporary.path, '.env');
    writeFileSync(file, `KEY=${secretReference('llm')}\nPIN="\${secret:pin}"\n`);
    const all = loadEnvironmentFile(file, { ...env, ADDRESS: `http://u:${secretReference('llm')}@h` });
    const options = readOptions(table, { env: all });
    expect(options).toEqual({ key: 'sesame-llm-1', address: 'http://u:sesame-llm-1@h', pin: 4711 });
    expect(secretValues(table, options)).toContain('sesame-llm-1');
    expect(readVariable('KEY', all)).toBe('sesame-llm-1');
    expect(usersOf('llm')).toEqual(expect.arrayContaining(['KEY', 'ADDRESS']));
  });

  it('that lead nowhere are named with the command that mends them, together with all else', () => {
    const wrong = { ...env, KEY: secretReference('none'), PIN: 'x' };
    expect(problemsOf(() => readOptions(table, { env: wrong }))).toEqual([
      'KEY: there is no secret none; set it: npx trunkline secret set none',
      'PIN is "x"; expected a whole number',
    ]);
    expect(() => readVariable('KEY', wrong)).toThrow('trunkline secret set none');
  });

  it('say what is wrong with the store', () => {
    const other = {
      ...env,
      KEY: secretReference('llm'),
      TRUNKLINE_SECRETS_KEY: 'another-key-of-at-least-32-letters',
    };
    expect(problemsOf(() => readOptions(table, { env: other }))).toEqual([
      expect.stringMatching(/^KEY: The key in TRUNKLINE_SECRETS_KEY does not open/),
    ]);
  });
});

describe('references in YAML', () => {
  const parse = (source: string, more = {}) =>
    parseYaml(source, z.any(), { file: join(temporary.path, 'agent/config.yaml'), env, ...more });

  it('stand for secrets in values; defaults and escapes work as with variables', () => {
    expect(parse(`a: Bearer \${secret:llm}\nb: "\${secret:none:-\${X:-y}}"\nc: $\${secret:llm}\n`)).toEqual({
      a: 'Bearer sesame-llm-1',
      b: 'y',
      c: `\${secret:llm}`,
    });
    const typed = z.object({ pin: z.number() });
    expect(parseYaml(`pin: \${secret:pin}`, typed, { file: 'x', env })).toEqual({ pin: 4711 });
    expect(parseYaml(`a: \${KEY}`, z.any(), { file: 'x', env: { ...env, KEY: `\${secret:llm}` } })).toEqual({
      a: 'sesame-llm-1',
    });
  });

  it('are recorded by the place that uses them', () => {
    parse(`mcp: { servers: [{ name: x }, { headers: { authorization: "Bearer \${secret:pin}" } }] }`);
    expect(usersOf('pin')).toContain('agent/config.yaml: mcp.servers[1].headers.authorization');
  });

  it('keep a secret that another file uses when one file drops it', () => {
    const store = secretStoreOf(env);
    const [own, shared] = ['agent-own-aaaaaa', 'agent-shared-bbbbbb'];
    for (const name of [own, shared]) store.set(name, 'a value');
    const before = `a: \${secret:${own}}\nb: \${secret:${shared}}\n`;
    parse(before);
    parseYaml(before.replace(own, shared), z.any(), { file: join(temporary.path, 'other.yaml'), env });
    removeUnreferenced(before, 'a: 1', { store, prefix: 'agent' });
    expect([store.get(own), store.get(shared)]).toEqual([undefined, 'a value']);
  });

  it('that lead nowhere are named with file, line, key and command', () => {
    expect(problemsOf(() => parse(`mcp:\n  key: \${secret:none}\n`))).toEqual([
      `${join(temporary.path, 'agent/config.yaml')}:2:8: mcp.key: there is no secret none; set it: npx trunkline secret set none`,
    ]);
    expect(problemsOf(() => parse(`a: \${secret:no such}\n`))[0]).toContain(`expected \${secret:name}`);
    const other = { ...env, TRUNKLINE_SECRETS_KEY: 'another-key-of-at-least-32-letters' };
    expect(problemsOf(() => parse(`a: \${secret:llm:-x}`, { env: other }))[0]).toContain(
      'TRUNKLINE_SECRETS_KEY',
    );
  });

  it('stay as they are where somebody sees the values, and where files are not expanded', () => {
    const seen = parse(`a: \${secret:none}\nb: \${X:-y}`, { secrets: 'show' });
    expect(seen).toEqual({ a: `\${secret:none}`, b: 'y' });
    expect(parse(`a: \${secret:none}`, { expand: false })).toEqual({ a: `\${secret:none}` });
  });

  it('count anew when the secret changes, without a change of the file', async () => {
    secretStoreOf(env).set('turning', 'first-value');
    const path = join(temporary.path, 'watched.yaml');
    writeFileSync(path, `key: \${secret:turning}\nother: \${secret:later:-none}\n`);
    const seen: unknown[] = [];
    const errors: string[] = [];
    const watch = await watchYaml(path, z.any(), {
      env,
      settleMs: 5,
      onChange: (value) => seen.push(value),
      onError: (error) => errors.push(error.message),
    });
    expect(watch.value).toEqual({ key: 'first-value', other: 'none' });
    secretStoreOf(env).set('turning', 'second-value');
    await waitFor(() => seen.length > 0);
    expect(watch.value).toEqual({ key: 'second-value', other: 'none' });
    secretStoreOf(env).remove('turning');
    await waitFor(() => errors.length > 0);
    expect(errors[0]).toContain('trunkline secret set turning');
    expect(watch.value.key).toBe('second-value');
    await watch.close();
  });
});

it('what references gave is hidden in logs and errors', () => {
  readVariable('A', { ...env, A: secretReference('llm') });
  const lines: string[] = [];
  const logger = createLogger({
    name: 'x',
    destination: { write: (line) => lines.push(line) },
    pretty: false,
  });
  logger.info({ err: new Error('refused sesame-llm-1') }, 'sent sesame-llm-1');
  expect(lines.join()).not.toContain('sesame');
  expect(redact({ list: ['sesame-llm-1'] })).toEqual({ list: ['[redacted]'] });
  expect(hideSecrets('x sesame-llm-1')).toBe('x [redacted]');
});
