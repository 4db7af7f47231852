import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { type Accounts, accountsFile, openAccounts } from './accounts.ts';

const HOUR = 3_600_000;
const clientId = 'sailor';
const verifier = 'a verifier of PKCE';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirect = 'http://127.0.0.1/callback';
const shown = { clientId, redirect, verifier };

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const clock = { now: Date.parse('2026-01-01') };
  const open = () => {
    const logger = { warn: () => undefined };
    const accounts = openAccounts({ home: home.path, logger, now: () => clock.now });
    onTestFinished(() => accounts.close());
    return accounts;
  };
  return { accounts: open(), open, clock, file: accountsFile(home.path) };
}

function connect({ accounts }: ReturnType<typeof start>, account: string) {
  const grant = { account, clientId, name: 'Sailor', agent: 'agent', redirect, challenge };
  const code = accounts.programs.createCode(grant);
  const tokens = accounts.programs.redeem(code, shown);
  if (tokens === undefined) throw new Error('the code was refused');
  return { ...tokens, code };
}

it('comes in with tokens that end, at the agent that they are for', () => {
  const started = start();
  const { accounts, open, clock } = started;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { access, refresh } = connect(started, id);
  const { programs } = open();
  expect([programs.holderOf(access, 'agent')?.account, programs.holderOf(access, 'other')?.account]).toEqual([
    id,
    undefined,
  ]);
  expect(programs.list(id)).toMatchObject([{ name: 'Sailor', agent: 'agent', lastUsedAt: clock.now }]);
  clock.now += HOUR;
  expect(programs.holderOf(access, 'agent')?.account).toBeUndefined();
  expect(programs.refresh(refresh, 'another client')).toBeUndefined();
  const renewed = programs.refresh(refresh, clientId);
  expect(programs.holderOf(renewed?.access ?? '', 'agent')?.account).toBe(id);
  clock.now += 30 * 24 * HOUR;
  expect([programs.refresh(renewed?.refresh ?? '', clientId), programs.list(id)]).toEqual([undefined, []]);
});

it('comes in also while the disk is full', () => {
  const started = start();
  const { accounts, file } = started;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { access } = connect(started, id);
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  database.exec(`CREATE TRIGGER full_disk BEFORE UPDATE ON programs
    BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  expect(accounts.programs.holderOf(access, 'agent')?.account).toBe(id);
});

it('may renew twice at once; a refresh token that comes back later was stolen', () => {
  const started = start();
  const { accounts, clock } = started;
  const { programs } = accounts;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { access, refresh } = connect(started, id);
  const first = programs.refresh(refresh, clientId);
  clock.now += 59_000;
  const second = programs.refresh(refresh, clientId);
  const accepted = () =>
    [access, first?.access, second?.access].map((each) => programs.holderOf(each ?? '', 'agent')?.account);
  expect(accepted()).toEqual([undefined, id, id]);
  // Each goes on by itself.
  expect(programs.refresh(first?.refresh ?? '', clientId)).toBeDefined();
  expect(accepted()).toEqual([undefined, undefined, id]);
  clock.now += 1000;
  expect(programs.refresh(refresh, clientId)).toBeUndefined();
  expect([accepted(), programs.list(id)]).toEqual([[undefined, undefined, undefined], []]);
});

it('keeps the tokens of a window that rests while another one renews every hour', () => {
  const started = start();
  const { accounts, clock } = started;
  const { programs } = accounts;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { refresh } = connect(started, id);
  const [busy, resting] = [programs.refresh(refresh, clientId), programs.refresh(refresh, clientId)];
  let tokens = busy;
  for (let hour = 0; hour < 60; hour += 1) {
    clock.now += HOUR;
    tokens = programs.refresh(tokens?.refresh ?? '', clientId);
  }
  expect(programs.holderOf(tokens?.access ?? '', 'agent')?.account).toBe(id);
  expect(programs.refresh(resting?.refresh ?? '', clientId)).toBeDefined();
});

it('loses what a code gave when it is shown again', () => {
  const started = start();
  const { accounts, clock } = started;
  const { programs } = accounts;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { access, code } = connect(started, id);
  expect(programs.redeem(code, shown)).toBeUndefined();
  expect(programs.holderOf(access, 'agent')?.account).toBeUndefined();
  const late = programs.createCode({
    account: id,
    clientId,
    name: 'Sailor',
    agent: 'agent',
    redirect,
    challenge,
  });
  clock.now += HOUR;
  expect(programs.redeem(late, shown)).toBeUndefined();
});

it.each<[string, (accounts: Accounts, ids: { id: string; keyId: string }) => void]>([
  ['its sessions', (accounts, { id }) => accounts.endSessions(id)],
  ['a key', (accounts, { keyId }) => accounts.revokeKey(keyId)],
  ['the account', (accounts, { id }) => accounts.update(id, { disabled: true })],
])('ends with %s, and only those of the account', (_, change) => {
  const started = start();
  const { accounts } = started;
  const [ava, bob] = [
    accounts.create({ name: 'Ava', role: 'member' }),
    accounts.create({ name: 'Bob', role: 'member' }),
  ];
  const { keyId } = accounts.createKey(ava.id, 'laptop');
  const [{ access, refresh }, other] = [connect(started, ava.id), connect(started, bob.id)];
  change(accounts, { id: ava.id, keyId });
  const { programs } = accounts;
  expect([programs.holderOf(access, 'agent')?.account, programs.refresh(refresh, clientId)]).toEqual([
    undefined,
    undefined,
  ]);
  expect(programs.holderOf(other.access, 'agent')?.account).toBe(bob.id);
});

it('gives way at the limit, the one that was renewed least lately first', () => {
  const started = start();
  const { accounts, clock } = started;
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const first = connect(started, id);
  const all = Array.from({ length: 50 }, () => {
    clock.now += 1;
    return connect(started, id);
  });
  expect(accounts.programs.holderOf(first.access, 'agent')?.account).toBeUndefined();
  expect(all.every(({ access }) => accounts.programs.holderOf(access, 'agent')?.account === id)).toBe(true);
});

it('keeps the codes of an account, however many another one gets', () => {
  const { accounts } = start();
  const [ava, bob] = ['Ava', 'Bob'].map((name) => accounts.create({ name, role: 'member' }).id);
  const codeFor = (account = '') =>
    accounts.programs.createCode({ account, clientId, name: 'Sailor', agent: 'agent', redirect, challenge });
  const first = codeFor(ava);
  const own = Array.from({ length: 60 }, () => codeFor(bob));
  for (let count = 0; count < 1100; count += 1) codeFor(bob);
  expect(accounts.programs.redeem(first, shown)).toBeDefined();
  expect(accounts.programs.redeem(own[0] ?? '', shown)).toBeUndefined();
});
