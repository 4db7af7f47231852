import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { principalOf } from './account.ts';
import { type Accounts, accountsFile, openAccounts } from './accounts.ts';

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

describe('connected programs', () => {
  const clientId = 'sailor';
  const verifier = 'a verifier of PKCE';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const redirect = 'http://127.0.0.1/callback';
  const shown = { clientId, redirect, verifier };

  function connect({ accounts }: ReturnType<typeof start>, account: string) {
    const grant = { account, clientId, name: 'Sailor', agent: 'agent', redirect, challenge };
    const code = accounts.programs.createCode(grant);
    const tokens = accounts.programs.redeem(code, shown);
    if (tokens === undefined) throw new Error('the code was refused');
    return { ...tokens, code };
  }

  it('come in with tokens that end, at the agent that they are for', () => {
    const started = start();
    const { accounts, open, clock } = started;
    const { id } = accounts.create({ name: 'Ava', role: 'member' });
    const { access, refresh } = connect(started, id);
    const { programs } = open();
    expect([programs.accountOf(access, 'agent'), programs.accountOf(access, 'other')]).toEqual([
      id,
      undefined,
    ]);
    expect(programs.list(id)).toMatchObject([{ name: 'Sailor', agent: 'agent', lastUsedAt: clock.now }]);
    clock.now += HOUR;
    expect(programs.accountOf(access, 'agent')).toBeUndefined();
    expect(programs.refresh(refresh, 'another client')).toBeUndefined();
    const renewed = programs.refresh(refresh, clientId);
    expect(programs.accountOf(renewed?.access ?? '', 'agent')).toBe(id);
    clock.now += 30 * 24 * HOUR;
    expect([programs.refresh(renewed?.refresh ?? '', clientId), programs.list(id)]).toEqual([undefined, []]);
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
      [access, first?.access, second?.access].map((each) => programs.accountOf(each ?? '', 'agent'));
    expect(accepted()).toEqual([undefined, id, id]);
    // Each goes on by itself.
    expect(programs.refresh(first?.refresh ?? '', clientId)).toBeDefined();
    expect(accepted()).toEqual([undefined, undefined, id]);
    clock.now += 1000;
    expect(programs.refresh(refresh, clientId)).toBeUndefined();
    expect([accepted(), programs.list(id)]).toEqual([[undefined, undefined, undefined], []]);
  });

  it('lose what a code gave when it is shown again', () => {
    const started = start();
    const { accounts, clock } = started;
    const { programs } = accounts;
    const { id } = accounts.create({ name: 'Ava', role: 'member' });
    const { access, code } = connect(started, id);
    expect(programs.redeem(code, shown)).toBeUndefined();
    expect(programs.accountOf(access, 'agent')).toBeUndefined();
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
  ])('end with %s, and only those of the account', (_, change) => {
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
    expect([programs.accountOf(access, 'agent'), programs.refresh(refresh, clientId)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(programs.accountOf(other.access, 'agent')).toBe(bob.id);
  });

  it('give way at the limit, the one that was renewed least lately first', () => {
    const started = start();
    const { accounts, clock } = started;
    const { id } = accounts.create({ name: 'Ava', role: 'member' });
    const first = connect(started, id);
    const all = Array.from({ length: 50 }, () => {
      clock.now += 1;
      return connect(started, id);
    });
    expect(accounts.programs.accountOf(first.access, 'agent')).toBeUndefined();
    expect(all.every(({ access }) => accounts.programs.accountOf(access, 'agent') === id)).toBe(true);
  });
});
