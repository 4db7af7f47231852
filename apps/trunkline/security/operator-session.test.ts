import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, json, openMode, startAttack } from './attack.suite.ts';
import { names } from './security.suite.ts';

/** The operator's own session, and those who would like to have it. */
let attack: Attack;
beforeAll(async () => {
  attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
});
afterAll(() => attack.stop());

describe('the operator', () => {
  it('is let in by the cookie of a browser that signed in, in every service', async () => {
    for (const name of names) {
      const headers = await attack.operator(name);
      const { body } = await json(`${attack.url(name)}/operator`, undefined, headers);
      expect({ name, body }).toEqual({ name, body: expect.objectContaining({ operator: true }) });
    }
    const headers = await attack.operator('agent');
    const marker = join(attack.outside, 'started');
    const program = { name: 'mine', command: 'touch', args: [marker] };
    await json(`${attack.url('agent')}/api/mcp/servers/test`, program, headers);
    expect(existsSync(marker)).toBe(true);
  });

  it('keeps a cookie that no script reads and no other site sends, and it is not the key', async () => {
    const response = await fetch(`${attack.url('voice')}/operator`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: attack.operatorKey() }),
    });
    const set = response.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/HttpOnly/i);
    expect(set).toMatch(/SameSite=Strict/i);
    expect(set).not.toMatch(/Domain=/i);
    expect(set).not.toContain(attack.operatorKey());
  });

  it('is signed out by a cookie that somebody changed', async () => {
    const { cookie = '' } = await attack.operator('agent');
    const last = cookie.at(-1) === 'A' ? 'B' : 'A';
    for (const forged of [
      cookie.slice(0, -1) + last,
      cookie.slice(0, -1),
      `${cookie}x`,
      cookie.toUpperCase(),
    ]) {
      const { body } = await json<{ operator?: boolean }>(`${attack.url('agent')}/operator`, undefined, {
        cookie: forged,
      });
      expect(body.operator).not.toBe(true);
    }
  });
});

// Last, because the sign-in is closed for a while after it.
describe('somebody who guesses', () => {
  it('cannot guess the key by asking often', async () => {
    const guesses = Array.from({ length: 60 }, (_, index) =>
      json(`${attack.url('agent')}/operator`, { key: `guess-${index}` }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status < 400)).toEqual([]);
    expect(statuses).toContain(429);
  });
});

it('a new key ends every session', async () => {
  await attack.restart();
  const { cookie = '' } = await attack.operator('agent');
  const state = () => json<{ operator?: boolean }>(`${attack.url('agent')}/operator`, undefined, { cookie });
  await attack.restart();
  expect((await state()).body.operator).toBe(true);
  rmSync(join(attack.home, 'operator-key'));
  await attack.restart();
  expect((await state()).body.operator).not.toBe(true);
});
