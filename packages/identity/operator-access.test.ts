import { readFileSync } from 'node:fs';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { operatorAccess } from './operator-access.ts';

function access() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const clock = { now: Date.parse('2026-01-01') };
  return { ...operatorAccess(home.path, { now: () => clock.now }), clock, home: home.path };
}

it('knows its key and no other', () => {
  const { isKey, keyFile } = access();
  const key = readFileSync(keyFile, 'utf8').trim();
  expect([isKey(key), isKey(`${key}x`), isKey(''), isKey(access().keyFile)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

it('takes a code once, before it ends, and none of another installation', () => {
  const { createCode, redeem, clock } = access();
  const [used, late] = [createCode(), createCode()];
  expect([redeem(used), redeem(used)]).toEqual([true, false]);
  clock.now += 16 * 60_000;
  expect(redeem(late)).toBe(false);
  expect([redeem(access().createCode()), redeem(''), redeem('1.2.3')]).toEqual([false, false, false]);
});

it('takes a session until it ends, and no code or tampered session for one', () => {
  const { createSession, createCode, isSession, redeem, clock } = access();
  const session = createSession();
  const [, nonce, signature] = session.split('.');
  expect(isSession(session)).toBe(true);
  expect(isSession(createCode())).toBe(false);
  expect(redeem(session)).toBe(false);
  expect(isSession(`${clock.now + 1e12}.${nonce}.${signature}`)).toBe(false);
  expect(isSession(access().createSession())).toBe(false);
  clock.now += 91 * 24 * 3_600_000;
  expect(isSession(session)).toBe(false);
});
