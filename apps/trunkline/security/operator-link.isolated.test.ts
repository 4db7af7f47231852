import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild, temporaryHome } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, raw } from './attack.suite.ts';

/** The real program, as somebody runs it for the first time; others of the machine try its one-time link. */
const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const home = temporaryHome();
let child: Child;
let link: URL;

beforeAll(async () => {
  const ports = Object.fromEntries(
    ['VOICE', 'AGENT', 'RESEARCH', 'SWITCHBOARD'].map((name) => [`${name}_PORT`, '0']),
  );
  child = startChild(launcher, {
    arguments: ['up'],
    environment: { ...home.environment, TRUNKLINE_OPEN: '0', ...ports, SEARXNG_URL: 'http://127.0.0.1:9' },
  });
  await child.waitForLine('Ctrl-C stops everything', 60_000);
  link = new URL(/http:\/\/\S+\/operator\/enter\?code=\S+/.exec(child.output())?.[0] ?? 'none:');
});
afterAll(async () => {
  await child?.kill('SIGTERM');
  home.remove();
});

const enter = (search: string) => raw(link.origin, 'GET', `/operator/enter${search}`);
const cookieOf = (answer: { headers: Record<string, string | string[] | undefined> }) =>
  String(answer.headers['set-cookie'] ?? '');

describe('the one-time link', () => {
  it('is made of a code that nobody guesses, and is not the key', () => {
    const code = link.searchParams.get('code') ?? '';
    expect(code.length).toBeGreaterThanOrEqual(20);
    expect(child.output()).not.toMatch(/trunkline_operator=/);
  });

  it('is not used up by guesses', async () => {
    for (const search of [
      '',
      '?code=',
      '?code=x',
      '?code[]=x',
      `?code=x&code=y`,
      '?code=__proto__',
      '?code=%00',
    ])
      expect({ search, cookie: cookieOf(await enter(search)) }).toEqual({ search, cookie: '' });
  });

  it('signs in once, also where two come at once, and shows its code to no other page', async () => {
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => enter(link.search)));
    const signedIn = answers.filter((answer) => cookieOf(answer) !== '');
    expect(signedIn).toHaveLength(1);
    const [first] = signedIn;
    expect(cookieOf(first ?? { headers: {} })).toMatch(/HttpOnly/i);
    expect(cookieOf(first ?? { headers: {} })).toMatch(/SameSite=Strict/i);
    expect(String(first?.headers['cache-control'])).toContain('no-store');
    expect(String(first?.headers.location ?? '')).not.toContain('code=');
    expect(cookieOf(await enter(link.search))).toBe('');
    const cookie = cookieOf(first ?? { headers: {} }).split(';')[0] ?? '';
    expect((await json(`${link.origin}/operator`, undefined, { cookie })).body).toMatchObject({
      operator: true,
    });
  });

  it('is not taken by another service once it was used', async () => {
    const others = [...child.output().matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([origin]) => origin);
    expect(new Set(others).size).toBeGreaterThanOrEqual(4);
    for (const origin of new Set(others))
      expect(cookieOf(await raw(origin, 'GET', `/operator/enter${link.search}`))).toBe('');
  });
});

it('a first run leaves its keys to the owner alone', () => {
  const folder = home.environment.TRUNKLINE_HOME ?? '';
  for (const file of ['operator-key', 'family-secret'])
    expect({ file, mode: (statSync(join(folder, file)).mode & 0o777).toString(8) }).toEqual({
      file,
      mode: '600',
    });
});
