import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { masterKey, SecretStore, SecretStoreError } from './index.ts';

let temporary: TemporaryDirectory;
let home: string;
let now = 1_000_000;
beforeEach(() => {
  temporary = temporaryDirectory();
  home = temporary.path;
  now = 1_000_000;
});
afterEach(() => temporary.remove());

const open = (env: Record<string, string> = {}) =>
  new SecretStore({ home, key: masterKey(home, env), now: () => now });
const at = (name: string) => join(home, name);

/** The code of the failure; its words must not hold a value. */
function failure(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (!(error instanceof SecretStoreError)) throw error;
    expect(error.message).not.toContain('value-1');
    return error.code;
  }
  return 'none';
}

function onFile(sql: string): void {
  const database = new DatabaseSync(at('secrets.db'));
  database.exec(sql);
  database.close();
}

describe('keeping secrets', () => {
  it('gives back what was set, in files that only the owner reads and that hold no value', () => {
    const store = open();
    expect([store.exists(), store.get('none'), store.list(), store.revision()]).toEqual([
      false,
      undefined,
      [],
      0,
    ]);
    expect(existsSync(at('secrets-key'))).toBe(false);
    store.set('llm-key', 'value-1');
    store.set('two.lines_x', 'value-2\nmore');
    expect([open().get('llm-key'), open().get('two.lines_x'), open().get('none')]).toEqual([
      'value-1',
      'value-2\nmore',
      undefined,
    ]);
    expect(readdirSync(home).sort()).toEqual(['secrets-key', 'secrets.db']);
    for (const name of readdirSync(home)) expect(statSync(at(name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(at('secrets.db'), 'latin1')).not.toContain('value-');
  });

  it('shows names, changes and uses, the latter to the minute', () => {
    const store = open();
    store.set('a', 'value-1');
    now += 5000;
    store.set('a', 'value-2');
    store.get('a');
    expect(store.list()).toEqual([
      { name: 'a', createdAt: 1_000_000, changedAt: 1_005_000, usedAt: null, users: [] },
    ]);
    store.get('a', 'LLM_API_KEY');
    now += 59_000;
    store.get('a', 'LLM_API_KEY');
    store.get('a', 'agent/config.yaml: model.key');
    expect(store.list()[0]).toMatchObject({
      usedAt: 1_064_000,
      users: [
        { user: 'agent/config.yaml: model.key', usedAt: 1_064_000 },
        { user: 'LLM_API_KEY', usedAt: 1_005_000 },
      ],
    });
    for (let index = 0; index < 22; index++) store.get('a', `user-${index}`);
    expect(store.list()[0]?.users).toHaveLength(20);
  });

  it('counts changes of values, not uses', () => {
    const store = open();
    store.set('a', 'value-1');
    const before = store.revision();
    store.get('a', 'x');
    expect(store.revision()).toBe(before);
    store.set('a', 'value-2');
    expect([store.remove('a'), store.remove('a'), store.get('a')]).toEqual([true, false, undefined]);
    expect(store.revision()).toBeGreaterThan(before + 1);
  });

  it.each(['', '../x', 'a b', '-a', 'a:b', 'x'.repeat(101)])('refuses the name %j', (name) => {
    expect(failure(() => open().set(name, 'value-1'))).toBe('secret_refused');
  });

  it('refuses values that are empty or huge', () => {
    expect(failure(() => open().set('a', ''))).toBe('secret_refused');
    expect(failure(() => open().set('a', 'x'.repeat(70_000)))).toBe('secret_refused');
  });

  it('gives a secret although its use cannot be recorded', () => {
    open().set('a', 'value-1');
    const other = new DatabaseSync(at('secrets.db'));
    other.exec('BEGIN IMMEDIATE');
    expect(open().get('a', 'someone')).toBe('value-1');
    other.close();
    expect(open().list()[0]?.users).toEqual([]);
  });
});

describe('the master key', () => {
  const strong = 'one-key-of-more-than-32-characters';
  const other = 'another-key-of-at-least-32-letters';

  it('comes from a variable, and then no file is written', () => {
    open({ TRUNKLINE_SECRETS_KEY: strong }).set('a', 'value-1');
    expect(readdirSync(home)).toEqual(['secrets.db']);
    expect(open({ TRUNKLINE_SECRETS_KEY: strong }).get('a')).toBe('value-1');
  });

  it('comes from a file that a variable names', () => {
    const file = at('elsewhere');
    writeFileSync(file, `${strong}\n`, { mode: 0o644 });
    open({ TRUNKLINE_SECRETS_KEY_FILE: file }).set('a', 'value-1');
    expect(open({ TRUNKLINE_SECRETS_KEY: strong }).get('a')).toBe('value-1');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('must not be one that can be guessed', () => {
    for (const weak of ['short', 'a'.repeat(64)]) {
      expect(failure(() => open({ TRUNKLINE_SECRETS_KEY: weak }).set('a', 'value-1'))).toBe(
        'secrets_key_weak',
      );
      writeFileSync(at('secrets-key'), weak);
      expect(failure(() => open().set('a', 'value-1'))).toBe('secrets_key_weak');
    }
    expect(existsSync(at('secrets.db'))).toBe(false);
  });

  it('that is wrong or missing opens nothing, changes nothing and is named', () => {
    open().set('a', 'value-1');
    const before = readFileSync(at('secrets.db'));
    const wrong = open({ TRUNKLINE_SECRETS_KEY: other });
    for (const attempt of [() => wrong.get('a'), () => wrong.set('a', 'x'), () => wrong.rotateKey(strong)])
      expect(failure(attempt)).toBe('secrets_key_wrong');
    expect(() => wrong.get('a')).toThrow(/TRUNKLINE_SECRETS_KEY.*TRUNKLINE_SECRETS_KEY_FILE/);
    renameSync(at('secrets-key'), at('saved'));
    for (const attempt of [() => open().get('a'), () => open().set('b', 'x'), () => open().rotateKey()])
      expect(failure(attempt)).toBe('secrets_key_missing');
    expect(() => open().get('a')).toThrow(at('secrets-key'));
    expect([existsSync(at('secrets-key')), readFileSync(at('secrets.db')).equals(before)]).toEqual([
      false,
      true,
    ]);
    expect(open().list()).toMatchObject([{ name: 'a' }]);
  });

  it('is rotated: the old one opens nothing any more', () => {
    const store = open();
    store.set('a', 'value-1');
    const old = readFileSync(at('secrets-key'), 'utf8').trim();
    store.rotateKey();
    expect(readFileSync(at('secrets-key'), 'utf8').trim()).not.toBe(old);
    expect([store.get('a'), open().get('a')]).toEqual(['value-1', 'value-1']);
    expect(failure(() => open({ TRUNKLINE_SECRETS_KEY: old }).get('a'))).toBe('secrets_key_wrong');
    expect(readdirSync(home).sort()).toEqual(['secrets-key', 'secrets.db']);
  });

  it('in a variable is rotated to one that the operator gives', () => {
    const store = open({ TRUNKLINE_SECRETS_KEY: strong });
    store.set('a', 'value-1');
    expect(failure(() => store.rotateKey())).toBe('secret_refused');
    expect(failure(() => store.rotateKey('weak'))).toBe('secrets_key_weak');
    store.rotateKey(other);
    expect(open({ TRUNKLINE_SECRETS_KEY: other }).get('a')).toBe('value-1');
  });

  it('survives a crash between writing the store and putting the new key in place, and before that', () => {
    const store = open();
    store.set('a', 'value-1');
    const old = readFileSync(at('secrets-key'), 'utf8');
    store.rotateKey();
    renameSync(at('secrets-key'), at('secrets-key.new'));
    writeFileSync(at('secrets-key'), old);
    expect(open().get('a')).toBe('value-1');
    expect(existsSync(at('secrets-key.new'))).toBe(false);
    writeFileSync(at('secrets-key.new'), other);
    expect(open().get('a')).toBe('value-1');
    open().rotateKey();
    expect(open().get('a')).toBe('value-1');
  });

  it("is kept in the system's keyring by secret-tool", () => {
    // As secret-tool(1) says: store reads the secret from standard input, lookup of nothing ends with 1 and no words.
    const tool = `#!/bin/sh
case "$1" in
  store) shift 2; cat > "${home}/ring-$4" ;;
  lookup) cat "${home}/ring-$5" 2>/dev/null || exit 1 ;;
  clear) rm -f "${home}/ring-$5" ;;
esac`;
    writeFileSync(at('secret-tool'), tool, { mode: 0o755 });
    const env = { TRUNKLINE_SECRETS_KEYRING: '1', PATH: `${home}:${process.env.PATH}` };
    open(env).set('a', 'value-1');
    expect(open(env).get('a')).toBe('value-1');
    open(env).rotateKey();
    expect(open(env).get('a')).toBe('value-1');
    expect(readdirSync(home).filter((name) => name.startsWith('ring-'))).toHaveLength(1);
    writeFileSync(at('secret-tool'), '#!/bin/sh\necho "no secret service" >&2; exit 1', { mode: 0o755 });
    rmSync(at('secrets.db'));
    expect(() => open(env).set('a', 'value-1')).toThrow(/no secret service.*TRUNKLINE_SECRETS_KEYRING/);
    expect(existsSync(at('secrets.db'))).toBe(false);
    rmSync(at('secret-tool'));
    expect(() => open({ ...env, PATH: home }).set('a', 'x')).toThrow(/no program secret-tool/);
  });
});

describe('what somebody did to the file', () => {
  beforeEach(() => {
    open().set('a', 'value-1');
    open().set('b', 'value-2');
  });

  it('shows for a value that was changed, shortened or swapped with another', () => {
    onFile("UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'b') WHERE name = 'a'");
    expect(failure(() => open().get('a'))).toBe('secrets_damaged');
    expect(() => open().get('a')).toThrow('trunkline secret set a');
    onFile("UPDATE secrets SET sealed = substr(sealed, 1, 10) WHERE name = 'a'");
    expect(failure(() => open().get('a'))).toBe('secrets_damaged');
    onFile("UPDATE secrets SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE name = 'b'");
    expect(failure(() => open().get('b'))).toBe('secrets_damaged');
    expect(failure(() => open().rotateKey())).toBe('secrets_damaged');
    open().set('b', 'value-3');
    expect(open().get('b')).toBe('value-3');
  });

  it('shows for a wrapped key that was changed', () => {
    onFile('UPDATE meta SET dataKey = substr(dataKey, 1, length(dataKey) - 1)');
    expect(failure(() => open().get('a'))).toBe('secrets_key_wrong');
  });

  it.each([0, 100, 5000])('is refused when the file was cut to %i bytes', (size) => {
    truncateSync(at('secrets.db'), size);
    for (const attempt of [() => open().get('a'), () => open().list(), () => open().set('c', 'x')])
      expect(failure(attempt)).toBe('secrets_damaged');
    expect(statSync(at('secrets.db')).size).toBe(size);
  });

  it('is refused when it is another file, or from a newer release', () => {
    onFile('PRAGMA user_version = 2');
    expect(failure(() => open().get('a'))).toBe('secrets_unusable');
    writeFileSync(at('secrets.db'), 'no database at all, just some text');
    expect(failure(() => open().get('a'))).toBe('secrets_damaged');
  });
});

describe('several processes', () => {
  const run = async (mode: string, prefix = '') => {
    const script = join(import.meta.dirname, 'fixtures/writer.ts');
    const child = spawn(process.execPath, [script, home, mode, prefix], { stdio: 'inherit' });
    return await once(child, 'exit');
  };

  it('create the store and write to it at once', async () => {
    expect(await Promise.all([run('write', 'x'), run('write', 'y')])).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(open().list()).toHaveLength(20);
    for (const { name } of open().list()) expect(open().get(name)).toBe(`value-${name.slice(2)}`);
    expect(readdirSync(home).sort()).toEqual(['secrets-key', 'secrets.db']);
  });

  it('lose nothing to one that is killed while it writes', async () => {
    open().set('a', 'value-1');
    expect(await run('die')).toEqual([null, 'SIGKILL']);
    expect(open().get('a')).toBe('value-1');
    open().set('b', 'value-2');
    expect(open().list()).toHaveLength(2);
  });
});
