import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openAccounts } from '@trunkline/accounts';
import { createApp, type Logger, serve } from '@trunkline/http';
import { operatorAccess, type Role } from '@trunkline/identity';
import {
  type OidcTestProvider,
  oidcClient,
  publicOidcClient,
  RedirectBrowser,
  startOidcProvider,
  temporaryDirectory,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createSignIn, type OidcOptions } from './sign-in.ts';

const loginPath = '/operator/oidc/login';
let provider: OidcTestProvider;
beforeAll(async () => {
  provider = await startOidcProvider({
    ava: {
      name: 'Ava\nLovelace',
      email: 'Ava@Example.com',
      email_verified: true,
      groups: ['staff', 'admins'],
    },
    ben: { name: 'Ben', email: 'ava@example.com', email_verified: false, groups: [] },
    eve: {},
    finn: { name: 'Finn', email: 'finn@example.com', email_verified: true, groups: [] },
    zoe: { name: 'Zoe', email: 'ava@example.com', email_verified: true, groups: ['staff'] },
  });
});
afterAll(() => provider.stop());

/** A service with people's accounts, on a free port. */
async function start(given: Partial<OidcOptions> = {}) {
  const { path: home, remove } = temporaryDirectory();
  const clock = { now: Date.now() };
  const lines: unknown[] = [];
  const write = (...line: unknown[]) => void lines.push(line);
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  const accounts = openAccounts({ home, logger });
  const options: OidcOptions = {
    oidcIssuer: provider.issuer,
    oidcClientId: oidcClient.id,
    oidcClientSecret: oidcClient.secret,
    oidcName: 'Example ID',
    oidcRoles: [],
    ...given,
  };
  const provided = createSignIn(options, accounts, () => clock.now);
  const app = createApp({
    service: 'sample',
    version: '1.0.0',
    logger,
    renderError: (error) => ({ body: { code: error.code } }),
    health: () => ({ status: 200, body: {} }),
    access: { operator: operatorAccess(home), accounts, provider: provided },
    homePath: '/home',
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
  onTestFinished(async () => {
    await server.stop(0);
    accounts.close();
    remove();
  });
  /** Up to the answer of the provider; `change` may tamper with the request. */
  const begin = async (login: string, change: (request: URL) => void = () => undefined, query = '') => {
    const browser = new RedirectBrowser();
    const response = await browser.go(`${server.url}${loginPath}${query}`);
    const request = new URL(response.headers.get('location') ?? '');
    change(request);
    return { browser, callback: await browser.authorize(request.href, login) };
  };
  const signIn = async (login: string, query?: string) => {
    const { browser, callback } = await begin(login, undefined, query);
    return browser.go(callback);
  };
  return { accounts, clock, lines, server, begin, signIn };
}

async function failure(response: Response) {
  const html = await response.text();
  return { status: response.status, code: response.headers.get('x-error-code'), html };
}

function sessionIn(response: Response): string {
  const cookie = response.headers.getSetCookie().find((each) => each.startsWith('trunkline_operator='));
  return /=([^;]*)/.exec(cookie ?? '')?.[1] ?? '';
}

it('asks for a code with PKCE, state and nonce, and leads back to the page with the session of the account', async () => {
  const { accounts, begin, lines } = await start();
  const account = accounts.create({ name: 'Ava', role: 'operator', identities: ['mail:ava@example.com'] });
  const asked = new Map<string, string>();
  const { browser, callback } = await begin(
    'ava',
    ({ searchParams }) => searchParams.forEach((value, name) => void asked.set(name, value)),
    '?return=/app%3Ftab%3D1%23top',
  );
  expect([...asked.keys()].sort()).toEqual([
    'client_id',
    'code_challenge',
    'code_challenge_method',
    'nonce',
    'redirect_uri',
    'response_type',
    'scope',
    'state',
  ]);
  expect(asked.get('code_challenge_method')).toBe('S256');
  const response = await browser.go(callback);
  expect([response.status, response.headers.get('location')]).toEqual([303, '/app?tab=1#top']);
  expect(response.headers.getSetCookie().find((each) => each.startsWith('trunkline_operator='))).toMatch(
    /Path=\/; HttpOnly; SameSite=Strict/,
  );
  expect(accounts.bySession(sessionIn(response))?.id).toBe(account.id);
  // From now on the subject counts, whatever happens to the address.
  expect(accounts.get(account.id)?.identities).toContain(`oidc:${provider.issuer}#ava`);
  expect(JSON.stringify(lines)).not.toMatch(/eyJ|code=(?!redacted)/);
});

it('names the provider to the pages, and signs out here and there', async () => {
  const { accounts, begin, server } = await start({ oidcRole: 'member' });
  const status = async (browser: RedirectBrowser, method = 'GET') =>
    (await browser.go(`${server.url}/operator`, { method })).json();
  const { browser, callback } = await begin('ava');
  expect(await status(browser)).toMatchObject({
    operator: false,
    provider: { name: 'Example ID', login: '/operator/oidc/login' },
  });
  const session = sessionIn(await browser.go(callback));
  expect(await status(browser)).toMatchObject({ operator: false, role: 'member' });
  const { sign_out_url: url } = await status(browser, 'DELETE');
  expect(new URL(url).origin).toBe(provider.issuer);
  expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
    client_id: oidcClient.id,
    post_logout_redirect_uri: `${server.url}/home`,
  });
  expect(accounts.bySession(session)).toBeUndefined();
  expect(await status(browser, 'DELETE')).not.toHaveProperty('sign_out_url');
});

it('leads only to pages of the service', async () => {
  const { signIn } = await start({ oidcRole: 'member' });
  for (const elsewhere of [
    '//evil.example',
    '/.//evil.example',
    '/app/..//evil.example',
    '/\\evil.example',
    'https://evil.example/',
    'javascript:alert(1)',
  ])
    expect((await signIn('ava', `?return=${encodeURIComponent(elsewhere)}`)).headers.get('location')).toBe(
      '/home',
    );
});

it('refuses whom nobody added, saying what to add, and takes people in where OIDC_ROLE says so', async () => {
  const closed = await start();
  expect(await failure(await closed.signIn('ava'))).toMatchObject({
    status: 403,
    code: 'oidc_unknown_person',
    html: expect.stringMatching(/identity oidc:http:\/\/127\.0\.0\.1:\d+#ava or mail:Ava@Example\.com/),
  });
  expect(closed.accounts.list()).toEqual([]);
  const open = await start({
    oidcRole: 'guest',
    oidcClientId: publicOidcClient,
    oidcClientSecret: undefined,
  });
  expect((await open.signIn('ava')).status).toBe(303);
  expect((await open.signIn('ava')).status).toBe(303);
  // The address opens no door for mails: whoever writes one can write any sender.
  expect(open.accounts.list()).toMatchObject([
    { name: 'Ava Lovelace', role: 'guest', identities: [`oidc:${provider.issuer}#ava`] },
  ]);
  expect((await open.signIn('eve')).status).toBe(303);
  expect(open.accounts.byIdentity(`oidc:${provider.issuer}#eve`)?.name).toBe('eve');
});

it('does not believe an address that is not verified', async () => {
  const { accounts, signIn } = await start();
  accounts.create({ name: 'Ava', role: 'owner', identities: ['mail:ava@example.com'] });
  expect(await failure(await signIn('ben'))).toMatchObject({
    code: 'oidc_unknown_person',
    html: expect.stringContaining('not verified'),
  });
});

it('links an account by its address once: the next who gets the address is somebody else', async () => {
  const identities = ['mail:ava@example.com'];
  const { accounts, signIn } = await start();
  const ava = accounts.create({ name: 'Ava', role: 'owner', identities });
  expect((await signIn('ava')).status).toBe(303);
  expect(await failure(await signIn('zoe'))).toMatchObject({
    code: 'oidc_unknown_person',
    html: expect.not.stringContaining('or mail:'),
  });
  expect(accounts.byIdentity(`oidc:${provider.issuer}#zoe`)).toBeUndefined();
  const open = await start({ oidcRole: 'guest' });
  open.accounts.create({ name: 'Ava', role: 'owner', identities });
  for (const login of ['ava', 'zoe']) expect((await open.signIn(login)).status).toBe(303);
  expect(open.accounts.byIdentity(`oidc:${provider.issuer}#zoe`)).toMatchObject({ role: 'guest' });
  expect(accounts.get(ava.id)?.identities).toHaveLength(2);
});

it('links no account that it refuses: a disabled one, and one whose groups give no role', async () => {
  const { accounts, signIn } = await start({ oidcRoleClaim: 'groups', oidcRoles: ['staff=member'] });
  const add = (name: string, mail: string) =>
    accounts.create({ name, role: 'member', identities: [`mail:${mail}`] });
  const [ava, finn] = [add('Ava', 'ava@example.com'), add('Finn', 'finn@example.com')];
  accounts.update(ava.id, { disabled: true });
  expect(await failure(await signIn('ava'))).toMatchObject({ code: 'account_disabled' });
  expect(await failure(await signIn('finn'))).toMatchObject({ code: 'oidc_unknown_person' });
  for (const { id } of [ava, finn]) expect(accounts.get(id)?.identities).toHaveLength(1);
});

it('refuses a disabled account', async () => {
  const { accounts, signIn } = await start();
  const { id } = accounts.create({
    name: 'Ava',
    role: 'member',
    identities: [`oidc:${provider.issuer}#ava`],
  });
  accounts.update(id, { disabled: true });
  const response = await signIn('ava');
  expect(sessionIn(response)).toBe('');
  expect(await failure(response)).toMatchObject({ status: 403, code: 'account_disabled' });
});

it('lets the groups of the provider decide about the role at each sign-in, apart from owners', async () => {
  const roles = { oidcRoleClaim: 'groups', oidcRoles: ['staff=member', 'admins=operator'] };
  const { accounts, signIn } = await start(roles);
  const add = (name: string, role: Role) =>
    accounts.create({ name, role, identities: [`oidc:${provider.issuer}#${name}`] });
  const [ava, ben] = [add('ava', 'guest'), add('ben', 'operator')];
  expect((await signIn('ava')).status).toBe(303);
  expect(accounts.get(ava.id)?.role).toBe('operator');
  // Ben is in no group any more.
  expect(await failure(await signIn('ben'))).toMatchObject({ code: 'oidc_unknown_person' });
  accounts.update(ben.id, { role: 'owner' });
  expect((await signIn('ben')).status).toBe(303);
  expect(accounts.get(ben.id)?.role).toBe('owner');
});

it('refuses an answer that belongs to no sign-in of this browser: wrong state, none, used, or too late', async () => {
  const { accounts, begin, clock } = await start({ oidcRole: 'member' });
  const forged = await begin('ava');
  const address = new URL(forged.callback);
  address.searchParams.set('state', 'x'.repeat(43));
  expect(await failure(await forged.browser.go(address.href))).toMatchObject({
    status: 401,
    code: 'oidc_expired',
  });
  // The sign-in is over with the first try, right or wrong.
  expect(await failure(await forged.browser.go(forged.callback))).toMatchObject({ code: 'oidc_expired' });
  const late = await begin('ava');
  expect(await failure(await new RedirectBrowser().go(late.callback))).toMatchObject({
    code: 'oidc_expired',
  });
  clock.now += 11 * 60_000;
  expect(await failure(await late.browser.go(late.callback))).toMatchObject({ code: 'oidc_expired' });
  expect(accounts.list()).toEqual([]);
});

it('takes each answer once, and a code only with the sign-in that asked for it', async () => {
  const { accounts, begin, server } = await start({ oidcRole: 'member' });
  const login = await fetch(`${server.url}${loginPath}`, { redirect: 'manual' });
  const [cookie = ''] = login.headers.getSetCookie()[0]?.split(';') ?? [];
  const stolen = new URL((await begin('ava')).callback);
  const { searchParams } = new URL(login.headers.get('location') ?? '');
  stolen.searchParams.set('state', searchParams.get('state') ?? '');
  const show = () => fetch(stolen, { headers: { cookie }, redirect: 'manual' });
  expect(await failure(await show())).toMatchObject({ status: 401, code: 'oidc_invalid' });
  expect(await failure(await show())).toMatchObject({ status: 401, code: 'oidc_expired' });
  expect(accounts.list()).toEqual([]);
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, { get?: { parameters?: { name: string; in: string }[] } }>;
  };
  const queryOf = (path: string) =>
    paths[path]?.get?.parameters?.map(({ name, in: place }) => `${place} ${name}`);
  expect(queryOf(loginPath)).toEqual(['query return']);
  expect(queryOf('/operator/oidc/callback')).toEqual(
    ['state', 'code', 'error', 'error_description'].map((name) => `query ${name}`),
  );
});

it('refuses the answer of another issuer, and one for another request', async () => {
  const { accounts, begin } = await start({ oidcRole: 'member' });
  const mixed = await begin('ava');
  const address = new URL(mixed.callback);
  address.searchParams.set('iss', 'https://evil.example');
  expect(await failure(await mixed.browser.go(address.href))).toMatchObject({
    status: 401,
    code: 'oidc_invalid',
    html: expect.stringContaining('&quot;iss&quot;'),
  });
  const replayed = await begin('ava', ({ searchParams }) => searchParams.set('nonce', 'of-another-sign-in'));
  expect(await failure(await replayed.browser.go(replayed.callback))).toMatchObject({
    code: 'oidc_invalid',
    html: expect.stringContaining('nonce'),
  });
  expect(accounts.list()).toEqual([]);
});

it('says what the provider refused: the person who cancels, and a client whose secret is wrong', async () => {
  const { begin } = await start({ oidcRole: 'member' });
  const cancelled = await begin('ava', ({ searchParams }) => searchParams.set('prompt', 'none'));
  expect(await failure(await cancelled.browser.go(cancelled.callback))).toMatchObject({
    status: 401,
    code: 'oidc_denied',
    html: expect.stringContaining('Example ID did not sign you in'),
  });
  const { signIn } = await start({ oidcClientSecret: 'wrong' });
  expect(await failure(await signIn('ava'))).toMatchObject({
    status: 502,
    code: 'oidc_client_refused',
    html: expect.stringContaining('OIDC_CLIENT_SECRET'),
  });
});

it('says that the provider does not answer, asks it once for many clicks, and works again with it', async () => {
  let requests = 0;
  const gone = createServer((_request, response) => {
    requests += 1;
    response.writeHead(503).end();
  }).listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  onTestFinished(() => void gone.close());
  const { clock, server } = await start({ oidcIssuer: `http://127.0.0.1:${port}` });
  const click = async () => failure(await fetch(`${server.url}${loginPath}`, { redirect: 'manual' }));
  const clicks = await Promise.all([click(), click(), click()]);
  for (const each of [...clicks, await click()])
    expect(each).toMatchObject({
      status: 502,
      code: 'oidc_unreachable',
      html: expect.stringMatching(/Signing in with a key still works.*OIDC_ISSUER/),
    });
  expect(requests).toBe(1);
  clock.now += 5_000;
  await click();
  expect(requests).toBe(2);
});
