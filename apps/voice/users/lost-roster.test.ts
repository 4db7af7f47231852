import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startVoice, type TestVoice } from '../voice.suite.ts';

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
