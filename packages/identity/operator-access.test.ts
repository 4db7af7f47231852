import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { operatorAccess, readOrCreateSecret } from './operator-access.ts';

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

function homeWith(content?: string) {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const path = join(home.path, 'secret');
  if (content !== undefined) writeFileSync(path, content);
  return { home: home.path, path };
}

it.each([
  ['missing', undefined],
  ['cut off', 'abc'],
  ['not text', '\u0000\ufffd{"broken'],
  ['empty', ''],
])('creates a secret where it is %s, and keeps it', (_, content) => {
  const { home, path } = homeWith(content);
  const secret = readOrCreateSecret(home, 'secret');
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(path, 'utf8').trim()).toBe(secret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readOrCreateSecret(home, 'secret')).toBe(secret);
});

it('takes the rights of others on the file away', () => {
  const { home, path } = homeWith();
  const secret = readOrCreateSecret(home, 'secret');
  chmodSync(path, 0o644);
  expect(readOrCreateSecret(home, 'secret')).toBe(secret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
