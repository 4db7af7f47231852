import { existsSync, readFileSync, statSync } from 'node:fs';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { principalOf } from './account.ts';
import { accountsFile, openAccounts } from './accounts.ts';

const HOUR = 3_600_000;

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const clock = { now: Date.parse('2026-01-01') };
  const open = () => {
    const accounts = openAccounts({
      home: home.path,
      logger: { warn: () => undefined },
      now: () => clock.now,
    });
    onTestFinished(() => accounts.close());
    return accounts;
  };
  return { accounts: open(), open, clock, file: accountsFile(home.path) };
}

const code = (run: () => unknown) => {
  try {
    run();
    return 'done';
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

it('creates no file as long as there is nobody', () => {
  const { accounts, file } = start();
  expect([accounts.list(), accounts.pairings(), accounts.listed()]).toEqual([[], [], []]);
  expect([accounts.byKey('tlk_x'), accounts.bySession('tls_x'), accounts.byIdentity('voice:ava')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  accounts.setListed('users.yaml', []);
  expect(existsSync(file)).toBe(false);
});

it('knows a person by key, session and identity, in every service', () => {
  const { accounts, open, file, clock } = start();
  const ava = accounts.create({ name: ' Ava ', role: 'member', identities: ['mail:Ava@Example.com'] });
  const { key, keyId } = accounts.createKey(ava.id, 'laptop');
  const cookie = accounts.createSession(ava.id);
  const other = open();
  for (const found of [
    other.byKey(key),
    other.bySession(cookie),
    other.byIdentity('mail:AVA@example.com'),
    other.get(ava.id),
  ])
    expect(found).toMatchObject({ id: ava.id, name: 'Ava', identities: ['mail:ava@example.com'] });
  expect(principalOf(ava)).toEqual({ kind: 'person', id: `user:${ava.id}`, via: [], role: 'member' });
  expect(other.keys(ava.id)).toEqual([
    { keyId, label: 'laptop', createdAt: clock.now, lastUsedAt: clock.now },
  ]);
  expect(other.get(ava.id)?.lastSeenAt).toBe(clock.now);
  accounts.close();
  other.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const stored = readFileSync(file, 'latin1');
  expect([stored.includes(key), stored.includes(cookie)]).toEqual([false, false]);
});

it('forgets revoked keys, ended and expired sessions, and everything of a removed account', () => {
  const { accounts, clock } = start();
  const { id } = accounts.create({ name: 'Ava', role: 'member', identities: ['voice:ava'] });
  const [revoked, key] = [accounts.createKey(id, 'a'), accounts.createKey(id, 'b')];
  accounts.revokeKey(revoked.keyId);
  const [ended, open] = [accounts.createSession(id), accounts.createSession(id)];
  accounts.endSession(ended);
  expect([accounts.byKey(revoked.key), accounts.bySession(ended)]).toEqual([undefined, undefined]);
  expect([accounts.byKey(key.key)?.id, accounts.bySession(open)?.id]).toEqual([id, id]);
  clock.now += 91 * 24 * HOUR;
  expect(accounts.bySession(open)).toBeUndefined();
  const late = accounts.createSession(id);
  accounts.endSessions(id);
  expect(accounts.bySession(late)).toBeUndefined();
  accounts.remove(id);
  expect([accounts.byKey(key.key), accounts.byIdentity('voice:ava'), accounts.list()]).toEqual([
    undefined,
    undefined,
    [],
  ]);
});

it('keeps the newest twenty sessions and refuses more than twenty keys', () => {
  const { accounts, clock } = start();
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const cookies = Array.from({ length: 22 }, () => {
    clock.now += 1000;
    return accounts.createSession(id);
  });
  expect(cookies.map((cookie) => accounts.bySession(cookie) !== undefined)).toEqual([
    false,
    false,
    ...Array(20).fill(true),
  ]);
  for (let index = 0; index < 20; index += 1) accounts.createKey(id, 'x');
  expect(code(() => accounts.createKey(id, 'x'))).toBe('account_limit');
});

it('gives a disabled account no principal and no new session', () => {
  const { accounts } = start();
  const { id } = accounts.create({ name: 'Ava', role: 'member' });
  const { key } = accounts.createKey(id, 'laptop');
  accounts.update(id, { disabled: true });
  const found = accounts.byKey(key);
  expect(found?.disabled).toBe(true);
  expect(() => found && principalOf(found)).toThrow('The account Ava is disabled');
  expect(code(() => accounts.createSession(id))).toBe('account_disabled');
});

it('keeps an owner as long as there are other accounts', () => {
  const { accounts } = start();
  const ava = accounts.create({ name: 'Ava', role: 'owner' });
  const bob = accounts.create({ name: 'Bob', role: 'operator' });
  expect(principalOf(ava)).toMatchObject({ kind: 'operator', role: 'owner' });
  expect(principalOf(bob)).toMatchObject({ kind: 'operator', role: 'operator' });
  const attempts = [
    () => accounts.update(ava.id, { role: 'member' }),
    () => accounts.update(ava.id, { disabled: true }),
    () => accounts.remove(ava.id),
  ];
  expect(attempts.map(code)).toEqual(Array(3).fill('account_last_owner'));
  accounts.update(bob.id, { role: 'owner' });
  accounts.update(ava.id, { role: 'member' });
  accounts.remove(ava.id);
  accounts.remove(bob.id);
  expect(accounts.list()).toEqual([]);
});

it('refuses identities and names that are none, and an identity of somebody else', () => {
  const { accounts } = start();
  const ava = accounts.create({ name: 'Ava', role: 'member', identities: ['discord:1'] });
  const bob = accounts.create({ name: 'Bob', role: 'guest' });
  for (const wrong of ['ava', ':x', 'discord:', 'Discord:1', 'a:b\nc', `a:${'x'.repeat(300)}`])
    expect(code(() => accounts.link(bob.id, wrong))).toBe('identity_invalid');
  expect(code(() => accounts.link(bob.id, 'discord:1'))).toBe('identity_linked');
  expect(accounts.link(ava.id, 'discord:1').identities).toEqual(['discord:1']);
  accounts.unlink('discord:1');
  expect(accounts.link(bob.id, 'discord:1').identities).toEqual(['discord:1']);
  expect(code(() => accounts.unlink('discord:2'))).toBe('identity_unknown');
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(81)])
    expect(code(() => accounts.create({ name, role: 'guest' }))).toBe('account_name');
  expect(code(() => accounts.update('nobody', { role: 'guest' }))).toBe('account_unknown');
  const half = () => accounts.create({ name: 'Cy', role: 'guest', identities: ['mail:c@d', 'discord:1'] });
  expect([code(half), accounts.byIdentity('mail:c@d'), accounts.list().length]).toEqual([
    'identity_linked',
    undefined,
    2,
  ]);
});

describe('pairing', () => {
  it('links whoever asked by the code, as people type it, or by the identity', () => {
    const { accounts, open } = start();
    const asked = accounts.requestPairing('discord:1', 'Ava\u0007');
    expect(asked?.code).toMatch(/^[A-HJKMNP-Z2-9]{8}$/);
    expect(accounts.pairings()).toEqual([
      { identity: 'discord:1', display: 'Ava', requestedAt: expect.any(Number), expiresAt: asked?.expiresAt },
    ]);
    const typed = ` ${asked?.code.slice(0, 4).toLowerCase()}-${asked?.code.slice(4)}`;
    const ava = open().approvePairing({ code: typed }, { name: 'Ava', role: 'member' });
    expect(ava).toMatchObject({ name: 'Ava', role: 'member', identities: ['discord:1'] });
    accounts.requestPairing('mail:a@b', 'Ava');
    expect(accounts.approvePairing({ identity: 'mail:a@b' }, { accountId: ava.id }).identities).toEqual([
      'discord:1',
      'mail:a@b',
    ]);
    expect(accounts.pairings()).toEqual([]);
    expect(accounts.requestPairing('discord:1', 'Ava')).toBeUndefined();
  });

  it('ends after an hour, when it is refused, and with a newer code', () => {
    const { accounts, clock } = start();
    const first = accounts.requestPairing('discord:1', 'Ava')?.code ?? '';
    const second = accounts.requestPairing('discord:1', 'Ava')?.code ?? '';
    const approve = (given: string) =>
      code(() => accounts.approvePairing({ code: given }, { name: 'Ava', role: 'member' }));
    expect(approve(first)).toBe('pairing_unknown');
    clock.now += HOUR;
    expect([approve(second), accounts.pairings()]).toEqual(['pairing_unknown', []]);
    const refused = accounts.requestPairing('discord:1', 'Ava')?.code ?? '';
    accounts.refusePairing('discord:1');
    expect([approve(refused), accounts.pairings()]).toEqual(['pairing_unknown', []]);
    expect(accounts.requestPairing('discord:1', 'Ava')).toBeUndefined();
    clock.now += HOUR;
    expect(accounts.requestPairing('discord:1', 'Ava')).toBeDefined();
    expect(accounts.list()).toEqual([]);
  });

  it('bounds the codes of an identity, the requests of a namespace and all', () => {
    const { accounts, clock } = start();
    const ask = (identity: string) => accounts.requestPairing(identity, 'x') !== undefined;
    expect(Array.from({ length: 6 }, () => ask('discord:1'))).toEqual([...Array(5).fill(true), false]);
    expect(Array.from({ length: 5 }, (_, index) => ask(`discord:${index + 2}`))).toEqual([
      ...Array(4).fill(true),
      false,
    ]);
    for (let index = 0; index < 95; index += 1) ask(`n${index}:1`);
    expect([accounts.pairings().length, ask('mail:a@b')]).toEqual([100, false]);
    clock.now += HOUR;
    expect(ask('mail:a@b')).toBe(true);
  });

  it('lets newer requests in once the oldest had ten minutes, also where everything is full', () => {
    const { accounts, clock } = start();
    const ask = (identity: string) => accounts.requestPairing(identity, 'x')?.code;
    const codes = ['1', '2', '3', '4', '5'].map((id) => ask(`discord:${id}`));
    clock.now += 599_999;
    expect([ask('discord:1') !== undefined, ask('discord:6')]).toEqual([true, undefined]);
    clock.now += 1;
    // The first has a newer code by now, so the second gives way.
    expect(ask('discord:6')).toBeDefined();
    expect(accounts.pairings().map(({ identity }) => identity)).toEqual(
      ['1', '3', '4', '5', '6'].map((id) => `discord:${id}`),
    );
    expect(
      code(() => accounts.approvePairing({ code: codes[1] ?? '' }, { name: 'Eve', role: 'member' })),
    ).toBe('pairing_unknown');
    for (let index = 0; index < 95; index += 1) ask(`n${index}:1`);
    expect(ask('mail:a@b')).toBeDefined();
    expect(accounts.pairings()).toHaveLength(100);
  });

  it('stops whoever guesses codes, in all services together', () => {
    const { accounts, open, clock } = start();
    const { code: right = '' } = accounts.requestPairing('discord:1', 'Ava') ?? {};
    const services = [accounts, open()];
    const guess = (given: string, index: number) =>
      code(() => services[index % 2]?.approvePairing({ code: given }, { name: 'Eve', role: 'member' }));
    expect(Array.from({ length: 10 }, (_, index) => guess('AAAAAAA2', index))).toEqual(
      Array(10).fill('pairing_unknown'),
    );
    expect(guess(right, 0)).toBe('pairing_attempts');
    clock.now += 60_000;
    expect(guess(right, 1)).toBe('done');
  });
});

it('uses a one-time code up in all services, until it ends', () => {
  const { accounts, open, clock } = start();
  expect([accounts.useOnce('a', clock.now + 1000), open().useOnce('a', clock.now + 1000)]).toEqual([
    true,
    false,
  ]);
  expect(accounts.useOnce('b', clock.now + 1000)).toBe(true);
});

it('shows in every service what the file of one lists', () => {
  const { accounts, open } = start();
  accounts.setListed('users.yaml', [{ identity: 'voice:ava', name: 'Ava', role: 'member' }]);
  accounts.setListed('keys.yaml', [{ identity: 'key:ci', name: 'ci', role: 'member' }]);
  accounts.setListed('users.yaml', [{ identity: 'voice:bob', name: 'Bob', role: 'operator' }]);
  expect(open().listed()).toEqual([
    { source: 'keys.yaml', identity: 'key:ci', name: 'ci', role: 'member' },
    { source: 'users.yaml', identity: 'voice:bob', name: 'Bob', role: 'operator' },
  ]);
});
