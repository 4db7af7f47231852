import { once } from 'node:events';
import {
  type AppEnv,
  callerGuard,
  createApp,
  createKeyring,
  type Logger,
  requireOperator,
  serve,
  sse,
  streamText,
} from '@trunkline/http';
import {
  type AuditEvent,
  type AuditRecorder,
  encodePrincipal,
  operatorAccess,
  ownerKey,
  type Principal,
  principalHeader,
  type Role,
} from '@trunkline/identity';
import type { AccountsView } from '@trunkline/std';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Accounts, openAccounts } from './accounts.ts';
import { mountAccounts } from './routes.ts';

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };
const json = { 'content-type': 'application/json' };

/** A service with a key of its own, one with none, and a route for the operator. */
async function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const accounts = openAccounts({ home: home.path, logger });
  onTestFinished(() => accounts.close());
  const recorded: AuditEvent[] = [];
  const audit: AuditRecorder = { record: (event) => void recorded.push(event) };
  const operator = operatorAccess(home.path);
  const app = createApp<string>({
    service: 'sample',
    version: '1',
    logger,
    renderError: ({ code, message }) => ({ body: { code, message } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator, accounts, audit, serviceToken: 'token-between-services' },
  });
  const guard = (keys: Record<string, string>) =>
    callerGuard<string>({
      keyring: createKeyring(Object.entries(keys).map(([key, caller]) => ({ key, caller }))),
      openCaller: () => 'anyone',
      trustedCaller: ({ kind }) => (kind === 'anonymous' ? undefined : 'account'),
      principalOf: (id) => ({ kind: 'person', id, via: [] }),
      guestPaths: ['/keyed/chat'],
    });
  app.use('/keyed/*', guard({ 'roster-key': 'voice:ava' }));
  app.use('/open/*', guard({}));
  for (const path of ['/keyed/who', '/keyed/chat', '/open/who'])
    app.get(path, (context) => context.json(context.get('principal')));
  let opened: AppEnv['Bindings'] | undefined;
  app.get('/keyed/chat/stream', (context) => {
    opened = context.env;
    return sse(context, { greeting: 'connected', subscribe: () => () => undefined });
  });
  app.get('/keyed/chat/text', (context) => {
    opened = context.env;
    return streamText(context, {
      contentType: 'text/plain',
      chunks: async function* ({ signal }) {
        yield 'begun';
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
  });
  let polls = 0;
  app.get('/keyed/chat/poll', async (context) => {
    opened = context.env;
    polls += 1;
    await once(context.env.outgoing, 'close');
    return context.json({});
  });
  app.get('/configure', requireOperator(operator), (context) => context.json({}));
  mountAccounts(app, accounts, operator);
  const server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'SAMPLE_PORT', logger });
  onTestFinished(() => server.stop());
  const key = operator.secrets[0] ?? '';
  const call = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { redirect: 'manual', ...init, headers: { ...json, ...init.headers } });
  /** An operator's request; the status and the body. */
  const manage = async (method: string, path: string, body?: unknown, as = key) => {
    const answer = await call(`/operator/accounts${path}`, {
      method,
      headers: { 'x-operator-key': as },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const person = (name: string, role: Role) => {
    const { id } = accounts.create({ name, role });
    return { id, ...accounts.createKey(id, 'test') };
  };
  /** Opens a stream, and gives what tells whether the next look at who may have one leaves it open. */
  const open = async (init: RequestInit, path = '/keyed/chat/stream') => {
    expect((await call(path, init)).status).toBe(200);
    const { outgoing, streams } = opened ?? expect.unreachable();
    return () => {
      streams.endRevoked();
      return !outgoing.writableEnded;
    };
  };
  return {
    accounts,
    recorded,
    call,
    key,
    manage,
    person,
    open,
    polls: () => polls,
    cut: () => opened?.streams.endRevoked(),
  };
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';

const handed = (principal: Principal) => ({
  headers: { authorization: 'Bearer token-between-services', [principalHeader]: encodePrincipal(principal) },
});

describe('somebody with an account for whom a service asks', () => {
  it('has the role of today where it is lower, and never more than was handed on', async () => {
    const { accounts, call, person } = await start();
    person('Olga', 'owner');
    const { id } = person('Ava', 'operator');
    const origins = [{ kind: 'message', source: 'discord:1' }];
    const asks = async (role: Role, kind: Principal['kind']) => {
      const principal = { kind, id: `user:${id}`, via: ['voice'], role, origins };
      return (await (await call('/keyed/chat', handed(principal))).json()) as Principal;
    };
    expect(await asks('operator', 'operator')).toMatchObject({ kind: 'operator', role: 'operator' });
    expect(await asks('guest', 'person')).toMatchObject({ kind: 'person', role: 'guest' });
    accounts.update(id, { role: 'guest' });
    expect(await asks('operator', 'operator')).toEqual({
      kind: 'person',
      id: `user:${id}`,
      via: ['voice'],
      role: 'guest',
      origins,
    });
  });

  it('is refused when the account is disabled or gone', async () => {
    const { accounts, call, person } = await start();
    const { id } = person('Ava', 'member');
    const principal: Principal = { kind: 'person', id: `user:${id}`, via: ['voice'], role: 'member' };
    const refusal = async () => {
      const answer = await call('/open/who', handed(principal));
      return [answer.status, ((await answer.json()) as { message: string }).message];
    };
    accounts.update(id, { disabled: true });
    expect(await refusal()).toEqual([403, expect.stringContaining('The account Ava is disabled')]);
    accounts.remove(id);
    expect(await refusal()).toEqual([401, expect.stringContaining('This account was removed')]);
  });
});

describe('an open stream', () => {
  it.each<[string, (accounts: Accounts, ava: { id: string; keyId: string }) => void]>([
    ['the key is revoked', (accounts, { keyId }) => accounts.revokeKey(keyId)],
    ['the account is disabled', (accounts, { id }) => accounts.update(id, { disabled: true })],
    ['the account gets a lower role', (accounts, { id }) => accounts.update(id, { role: 'guest' })],
    ['the account is removed', (accounts, { id }) => accounts.remove(id)],
  ])('ends when %s', async (_, change) => {
    const { accounts, open, person } = await start();
    const [ava, bob] = [person('Ava', 'member'), person('Bob', 'member')];
    const isOpen = await open(bearer(ava.key));
    const others = [await open(bearer(bob.key)), await open(bearer('roster-key'))];
    const isTextOpen = await open(bearer(ava.key), '/keyed/chat/text');
    expect([isOpen(), isTextOpen()]).toEqual([true, true]);
    change(accounts, ava);
    expect([isOpen(), isTextOpen()]).toEqual([false, false]);
    for (const isOtherOpen of others) expect(isOtherOpen()).toBe(true);
  });

  it('stays while the accounts cannot be read', async () => {
    const { accounts, open, person } = await start();
    const isOpen = await open(bearer(person('Ava', 'member').key));
    const look = vi.spyOn(accounts, 'principalFor').mockImplementation(() => {
      throw new Error('database is locked');
    });
    expect(isOpen()).toBe(true);
    expect(look).toHaveBeenCalled();
  });

  it('that has not begun is cut as well: a long poll, a turn that is asked to wait', async () => {
    const { accounts, call, polls, cut, person } = await start();
    const [ava, bob] = [person('Ava', 'member'), person('Bob', 'member')];
    const answers = [ava, bob].map(({ key }) => call('/keyed/chat/poll', bearer(key)).catch(() => 'cut'));
    await waitFor(() => polls() === 2);
    accounts.update(ava.id, { disabled: true });
    cut();
    expect(await answers[0]).toBe('cut');
    expect(await Promise.race([answers[1], Promise.resolve('waits')])).toBe('waits');
    accounts.remove(bob.id);
    cut();
    expect(await answers[1]).toBe('cut');
  });

  it('ends with the session, with the account of a linked key, and of somebody who was handed on', async () => {
    const { accounts, open, person } = await start();
    const { id } = person('Ava', 'guest');
    const cookie = `trunkline_operator=${accounts.createSession(id)}`;
    const bySession = await open({ headers: { cookie } });
    accounts.link(id, 'voice:ava');
    const byRoster = await open(bearer('roster-key'));
    const byService = await open(handed({ kind: 'person', id: `user:${id}`, via: ['voice'], role: 'guest' }));
    accounts.update(id, { role: 'member' });
    expect([bySession(), byRoster(), byService()]).toEqual([true, true, true]);
    accounts.endSessions(id);
    expect([bySession(), byRoster(), byService()]).toEqual([false, true, true]);
    accounts.update(id, { disabled: true });
    expect([byRoster(), byService()]).toEqual([false, false]);
  });
});

describe('callers', () => {
  it('are the person whose key they show, wherever it stands, and with it nobody else', async () => {
    const { call, person, accounts } = await start();
    const ava = person('Ava', 'member');
    const who = { kind: 'person', id: `user:${ava.id}`, via: [], role: 'member' };
    for (const name of ['authorization', 'x-api-key', 'x-operator-key']) {
      const headers = { [name]: name === 'authorization' ? `Bearer ${ava.key}` : ava.key };
      for (const path of ['/keyed/who', '/open/who'])
        expect(await (await call(path, { headers })).json()).toEqual(who);
    }
    expect((await call('/configure', bearer(ava.key))).status).toBe(403);
    expect((await call('/keyed/who')).status).toBe(401);
    expect(await (await call('/open/who')).json()).toMatchObject({ kind: 'anonymous' });
    accounts.revokeKey(ava.keyId);
    expect((await call('/open/who', bearer(ava.key))).status).toBe(401);
  });

  it('with the role of an operator or owner are operators; disabled ones are refused with words', async () => {
    const { call, person, accounts } = await start();
    const keys = [person('Ola', 'owner').key, person('Op', 'operator').key];
    for (const key of keys) expect((await call('/configure', bearer(key))).status).toBe(200);
    const ava = person('Ava', 'operator');
    accounts.update(ava.id, { disabled: true });
    const refused = await call('/open/who', bearer(ava.key));
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: 'account_disabled',
      message: expect.stringContaining('Ava is disabled'),
    });
  });

  it('that are guests get only what is theirs', async () => {
    const { call, person } = await start();
    const { key } = person('Gus', 'guest');
    const status = async (path: string) => (await call(path, bearer(key))).status;
    expect([await status('/keyed/chat'), await status('/keyed/who'), await status('/open/who')]).toEqual([
      200, 403, 403,
    ]);
  });

  it('of a roster are the account that they are linked to', async () => {
    const { call, person, accounts } = await start();
    const who = async () =>
      await (await call('/keyed/who', { headers: { 'x-api-key': 'roster-key' } })).json();
    expect(await who()).toMatchObject({ id: 'voice:ava' });
    const ava = person('Ava', 'member');
    accounts.link(ava.id, 'voice:ava');
    expect(await who()).toEqual({ kind: 'person', id: `user:${ava.id}`, via: [], role: 'member' });
    accounts.update(ava.id, { disabled: true });
    expect(await who()).toMatchObject({ code: 'account_disabled' });
  });
});

it('signs a browser in with the key of an account, and out again', async () => {
  const { call, person, accounts, recorded } = await start();
  const ava = person('Ava', 'member');
  const signIn = (key: string) => call('/operator', { method: 'POST', body: JSON.stringify({ key }) });
  const cookie = cookieOf(await signIn(ava.key));
  expect(await (await call('/operator', { headers: { cookie } })).json()).toMatchObject({
    operator: false,
    account: ava.id,
    role: 'member',
  });
  expect(await (await call('/keyed/who', { headers: { cookie } })).json()).toMatchObject({
    id: `user:${ava.id}`,
  });
  expect((await call('/keyed/who', { headers: { cookie, 'sec-fetch-site': 'same-site' } })).status).toBe(401);
  await call('/operator', { method: 'DELETE', headers: { cookie } });
  expect((await call('/keyed/who', { headers: { cookie } })).status).toBe(401);
  const again = cookieOf(await signIn(ava.key));
  accounts.update(ava.id, { disabled: true });
  expect((await call('/keyed/who', { headers: { cookie: again } })).status).toBe(401);
  expect((await signIn(ava.key)).status).toBe(403);
  expect((await signIn(`${ava.key.slice(0, -1)}_`)).status).toBe(401);
  const signIns = recorded.filter(({ action }) => action === 'operator.sign-in');
  expect(signIns.map(({ principal, result }) => [ownerKey(principal), result])).toContainEqual([
    `person:user:${ava.id}`,
    '200',
  ]);
});

describe('the operator', () => {
  it('manages accounts, keys and identities, and every change is in the audit log', async () => {
    const { manage, call, recorded, accounts } = await start();
    const { status, body } = await manage('POST', '', {
      name: 'Ava',
      role: 'guest',
      identities: ['discord:1'],
    });
    expect(status).toBe(201);
    const id = String(body.id);
    expect((await manage('PATCH', `/${id}`, { role: 'member', name: 'Ava B' })).body).toMatchObject({
      role: 'member',
    });
    const created = (await manage('POST', `/${id}/keys`, { label: 'laptop' })).body;
    expect((await call('/keyed/who', bearer(String(created.key)))).status).toBe(200);
    await manage('POST', `/${id}/identities`, { identity: 'voice:ava' });
    await manage('DELETE', `/${id}/identities?identity=discord%3A1`);
    accounts.setListed('users.yaml', [{ identity: 'voice:ava', name: 'ava', role: 'member' }]);
    const view = (await manage('GET', '')).body as unknown as AccountsView;
    expect(view).toMatchObject({
      accounts: [{ id, name: 'Ava B', identities: ['voice:ava'], keys: [{ label: 'laptop' }] }],
      listed: [{ source: 'users.yaml', identity: 'voice:ava', accountId: id }],
      pairings: [],
      isOwner: true,
    });
    expect(JSON.stringify(view)).not.toContain(created.key);
    await manage('DELETE', `/${id}/keys/${created.keyId}`);
    expect((await call('/keyed/who', bearer(String(created.key)))).status).toBe(401);
    await manage('DELETE', `/${id}/sessions`);
    await manage('DELETE', `/${id}`);
    const results = recorded.filter(({ action }) => action === 'http.change').map(({ result }) => result);
    expect(results).toEqual([
      `201: created Ava (${id}) as guest`,
      `200: Ava (${id}): {"name":"Ava B","role":"member"}`,
      `201: created key ${created.keyId} of Ava B (${id})`,
      `201: linked voice:ava to Ava B (${id})`,
      `200: unlinked discord:1 from Ava B (${id})`,
      `200: revoked key ${created.keyId} of Ava B (${id})`,
      `200: ended the sessions of Ava B (${id})`,
      `200: removed Ava B (${id})`,
    ]);
  });

  it('pairs and refuses whoever asks', async () => {
    const { manage, accounts } = await start();
    const { code = '' } = accounts.requestPairing('discord:1', 'Ava') ?? {};
    accounts.requestPairing('discord:2', 'Eve');
    expect((await manage('GET', '/pairings')).body.pairings).toHaveLength(2);
    const wrong = { pairing: { code: 'AAAA2222' }, account: { name: 'X', role: 'member' } };
    expect((await manage('POST', '/pairings/approve', wrong)).status).toBe(404);
    const approve = { pairing: { code }, account: { name: 'Ava', role: 'member' } };
    expect((await manage('POST', '/pairings/approve', approve)).body).toMatchObject({
      identities: ['discord:1'],
    });
    expect((await manage('POST', '/pairings/refuse', { identity: 'discord:2' })).status).toBe(200);
    expect(accounts.pairings()).toEqual([]);
  });

  it('is asked for: nobody else reads or changes anything', async () => {
    const { manage, person, call } = await start();
    const member = person('Ava', 'member');
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['PATCH', `/${member.id}`],
      ['POST', `/${member.id}/keys`],
      ['POST', '/pairings/approve'],
    ] as const) {
      expect((await manage(method, path, method === 'GET' ? undefined : {}, member.key)).status).toBe(403);
      expect((await call(`/operator/accounts${path}`, { method })).status).toBe(403);
    }
  });

  it('who is no owner changes no owner and no operator, and appoints none', async () => {
    const { manage, person, accounts } = await start();
    const [owner, other, own, member] = [
      person('Ola', 'owner'),
      person('Oz', 'operator'),
      person('Op', 'operator'),
      person('Ava', 'member'),
    ];
    accounts.requestPairing('discord:1', 'Eve');
    const pairing = { identity: 'discord:1' };
    const status = async (method: string, path: string, body?: unknown) =>
      (await manage(method, path, body, own.key)).status;
    for (const id of [owner.id, other.id]) {
      expect(await status('PATCH', `/${id}`, { role: 'guest' })).toBe(403);
      expect(await status('DELETE', `/${id}`)).toBe(403);
      expect(await status('POST', `/${id}/keys`, {})).toBe(403);
      expect(await status('POST', `/${id}/identities`, { identity: 'discord:9' })).toBe(403);
      expect(await status('POST', '/pairings/approve', { pairing, account: { accountId: id } })).toBe(403);
    }
    expect(await status('PATCH', `/${own.id}`, { role: 'owner' })).toBe(403);
    expect(await status('PATCH', `/${member.id}`, { role: 'operator' })).toBe(403);
    expect(await status('POST', '', { name: 'Eve', role: 'owner' })).toBe(403);
    expect(
      await status('POST', '/pairings/approve', { pairing, account: { name: 'Eve', role: 'operator' } }),
    ).toBe(403);
    expect(await status('PATCH', `/${own.id}`, { name: 'Opal' })).toBe(200);
    expect(await status('POST', `/${own.id}/keys`, {})).toBe(201);
    expect(await status('PATCH', `/${member.id}`, { role: 'guest', disabled: true })).toBe(200);
    expect((await manage('GET', '', undefined, own.key)).body.isOwner).toBe(false);
    expect((await manage('PATCH', `/${other.id}`, { role: 'member' }, owner.key)).status).toBe(200);
  });
});
