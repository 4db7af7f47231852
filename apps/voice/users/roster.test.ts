import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startVoice, type TestVoice } from '../voice.suite.ts';
import { readRoster } from './roster.ts';

describe('records of the roster', () => {
  const read = (yaml: string) => {
    const warnings: string[] = [];
    const found = readRoster({ text: yaml, file: 'users.yaml', expand: false }, (words) =>
      warnings.push(words),
    );
    return { ...found, warnings };
  };
  const only = (record: string) => read(`users: [{id: a, api_key: k, ${record}}]`).users.get('a');

  it('trims allowed skills and drops blank ones [V013]', () => {
    expect(only('allowed_skills: ["  josh  ", "", "chef"]')?.allowedSkills).toEqual(['josh', 'chef']);
  });

  it.each(['[]', '"chef"', 'null', '["", " "]', '{a: 1}'])(
    'takes allowed_skills %s as no constraint',
    (list) => {
      expect(only(`allowed_skills: ${list}`)?.allowedSkills).toBeNull();
    },
  );

  it('makes an unknown role a user [V012]', () => {
    expect(only('role: wizard')?.role).toBe('user');
    expect(only('role: admin')?.role).toBe('admin');
    expect(only('display_name: A')?.role).toBe('user');
  });

  it('makes a viz that is no map null [V014]', () => {
    expect(only('pinned_viz: nebula')?.pinnedViz).toBeNull();
    expect(only('pinned_viz: {variant: nebula}')?.pinnedViz).toEqual({ variant: 'nebula' });
  });

  it('knows what a user speaks, and warns of what is no code of a language', () => {
    expect([only('language: es')?.language, only('language: pt-BR')?.language]).toEqual(['es', 'pt-BR']);
    expect(only('role: user')?.language).toBeUndefined();
    const { users, warnings } = read('users: [{id: a, api_key: k, language: "Spanish, please"}]');
    expect(users.get('a')?.language).toBeUndefined();
    expect(warnings).toEqual(['users.yaml: language of a is no code such as es or pt-BR, so it is not used']);
  });

  it('skips records without id or key with a warning', () => {
    const { users, warnings } = read(
      'users: [{id: a}, {api_key: k}, 7, {id: " ", api_key: k}, {id: b, api_key: x}]',
    );
    expect([...users.keys()]).toEqual(['b']);
    expect(warnings).toHaveLength(4);
  });

  it('keeps no key in memory', () => {
    const { keyring, users } = read('users: [{id: b, api_key: "0123"}]');
    expect(keyring.find('0123')?.id).toBe('b');
    expect(JSON.stringify([...users])).not.toContain('0123');
  });

  it('warns of allowed_skills that are no list', () => {
    expect(read('users: [{id: a, api_key: k, allowed_skills: chef}]').warnings).toEqual([
      'users.yaml: allowed_skills of a is no list, so it restricts nothing',
    ]);
  });

  it.each(['0123', '1e5', '0x1F', '98765432109876543210', 'true', '[k]', '{k: v}'])(
    'refuses the unquoted key %s, which YAML reads as something else, at its line',
    (key) => {
      const words = /users\.yaml:3:\d+: users\[0\]\.api_key: expected a text; put the key in quotes/;
      expect(() => read(`users:\n  - id: a\n    api_key: ${key}\n`)).toThrow(words);
    },
  );

  it.each(['42', 'true', 'null', '[chef]', '{chef: yes}'])(
    'refuses %s among the allowed skills, at its line',
    (entry) => {
      const words =
        /users\.yaml:4:\d+: users\[0\]\.allowed_skills\[1\]: expected the slug of a skill as a text/;
      expect(() => read(`users:\n  - id: a\n    api_key: k\n    allowed_skills: [chef, ${entry}]\n`)).toThrow(
        words,
      );
    },
  );

  it('refuses two users with one key or one id, at the line of the second, without the key', () => {
    const twice = (second: string) => () => read(`users:\n  - {id: a, api_key: secret1}\n  - ${second}\n`);
    expect(twice('{id: b, api_key: " secret1"}')).toThrow(/users\.yaml:3:.*record 1 has the same key/);
    expect(twice('{id: b, api_key: secret1}')).not.toThrow('secret1');
    expect(twice('{id: a, api_key: other}')).toThrow(/users\.yaml:3:.*record 1 has the same id/);
  });

  it.each(['', 'users:', 'people: []', 'users: {a: 1}', 'users: [{id: a}]'])(
    'refuses %j as a roster',
    (yaml) => {
      expect(() => read(yaml)).toThrow('users.yaml');
    },
  );
});

const roster = `users:
  - {id: ada, api_key: ada-key, role: admin}
  - {id: ben, api_key: ben-key}
`;

describe('a service that was given a roster', () => {
  const hintOf = async (voice: TestVoice) => {
    const { body } = await voice.get('/healthz');
    const missing = Object.values(body.missing ?? {}) as unknown as { what: string; hint: string }[];
    return missing.find(({ what }) => what === 'Users')?.hint;
  };

  it('stays closed when the roster is deleted, after a reload and after a restart', async () => {
    const first = await startVoice({ files: { 'users.yaml': roster } });
    rmSync(join(first.config, 'users.yaml'));
    const { body } = await first.post('/api/users/reload', {}, 'ada-key');
    expect(body.error).toContain(join(first.config, 'users.yaml'));
    expect((await first.get('/api/whoami')).status).toBe(401);
    expect((await first.get('/api/whoami', 'ada-key')).body.role).toBe('admin');
    expect(await hintOf(first)).toContain('The last good roster of users is in use.');
    await first.stop();

    const second = await startVoice({ home: first.home });
    for (const key of [undefined, 'ada-key', 'whatever']) {
      const answer = await second.get('/api/whoami', key);
      expect(answer.status).toBe(401);
      expect(answer.body.detail).toContain(join(first.config, 'users.yaml'));
    }
    expect((await second.post('/api/users/reload', {})).status).toBe(401);
    expect(await hintOf(second)).toContain(join(first.config, 'users.yaml'));
    expect(await second.say('Hello')).toBeUndefined();
    const logged = second.lines.find(({ message }) => message.startsWith('failed to load the roster'));
    expect(logged?.fields.reason).toContain('roster-configured');
  });

  it('stays closed when the users are taken out of the roster, until the operator deletes the record of it', async () => {
    const first = await startVoice({ files: { 'users.yaml': roster } });
    await first.stop();
    const files = { 'users.yaml': 'users: []' };
    const second = await startVoice({ home: first.home, files });
    expect((await second.get('/api/whoami')).status).toBe(401);
    await second.stop();
    rmSync(join(first.home, 'voice', 'roster-configured'));
    const third = await startVoice({ home: first.home, files });
    expect((await third.get('/api/whoami')).body.id).toBe('default');
  });

  it('closes when the first roster it is given is broken, and names file and line', async () => {
    const voice = await startVoice();
    expect((await voice.get('/api/whoami')).status).toBe(200);
    voice.put('users.yaml', 'users:\n  - id: ada\n    api_key: 0123\n');
    expect((await voice.post('/api/users/reload', {})).body.error).toMatch(/users\.yaml:3/);
    const { status, body } = await voice.get('/api/whoami');
    expect(status).toBe(401);
    expect(body.detail).toMatch(/users\.yaml:3:\d+: .*put the key in quotes/s);
    expect(await hintOf(voice)).toMatch(/users\.yaml:3/);
    rmSync(join(voice.config, 'users.yaml'));
    await voice.stop();
    const again = await startVoice({ home: voice.home });
    expect((await again.get('/api/whoami')).status).toBe(401);
  });
});
