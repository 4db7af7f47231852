import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { operatorAccess, operatorLink } from '@trunkline/identity';
import {
  checkLooks,
  describeWithBrowser,
  launchBrowser,
  type OidcTestProvider,
  oidcClient,
  phoneWindow,
  startOidcProvider,
  type TestBrowser,
  type TestPage,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Locked, type Name, names, startLocked } from '../security/security.suite.ts';

const openMode = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '' };
const noRoster = { 'voice/config/users.yaml': 'users: []' };
const START_LIMIT_MS = 240_000;

const homes: Record<Name, string> = { voice: '/', agent: '/', research: '/', switchboard: '/app' };

describeWithBrowser('the operator signs in', () => {
  let browser: TestBrowser;
  let fleet: Locked;
  let provider: OidcTestProvider;
  const opened: TestPage[] = [];

  beforeAll(async () => {
    for (const app of names) await ensurePages({ app });
    provider = await startOidcProvider({
      ava: { name: 'Ava', email: 'ava@example.com', email_verified: true },
    });
    const env = {
      ...openMode,
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: oidcClient.id,
      OIDC_CLIENT_SECRET: oidcClient.secret,
      OIDC_NAME: 'Example ID',
    };
    [browser, fleet] = await Promise.all([launchBrowser(), startLocked({ env, files: noRoster })]);
  }, START_LIMIT_MS);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((page) => page.close()));
  });
  afterAll(async () => {
    await browser?.close();
    await fleet?.stop();
    await provider?.stop();
  });

  const keyOf = (home: string) => readFileSync(join(home, 'operator-key'), 'utf8').trim();
  const at = (name: Name, path: string) => `${fleet.target(name).url}${path}`;
  const open = async (url: string, phone = false) => {
    const page = await browser.open(url, {
      reducedMotion: 'reduce',
      ...(phone && { viewport: phoneWindow }),
    });
    opened.push(page);
    return page;
  };

  it('and reads the documentation: searches it, and tries a route', async () => {
    const opening = await open(at('switchboard', '/help'), true);
    const { page } = opening;
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('ceremony');
    await page.locator('.found a').first().waitFor();
    await checkLooks(opening);
    await page.getByRole('link', { name: 'API' }).click();
    await page.getByLabel('Search routes').fill('healthz');
    await page.keyboard.press('Enter');
    const route = page.locator('.op:target');
    await route.getByRole('button', { name: 'Send' }).click();
    await route.getByText(/^200 /).waitFor();
    await checkLooks(opening);
    expect(opening.problems).toEqual([]);
  });

  it('with the key, on a page that shows what only the operator may see', async () => {
    const { page } = await open(at('agent', '/app#/connections'));
    const banner = page.getByRole('region', { name: 'Operator' });
    await banner.getByText('A part of this page is for the operator.').waitFor();
    await checkLooks({ page, problems: [], close: async () => undefined });
    await banner.getByRole('button', { name: 'Sign in as operator' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign in as operator' });
    await dialog.getByText('trunkline login').waitFor();
    await dialog.getByText(join(fleet.home, 'operator-key')).waitFor();
    await checkLooks({ page, problems: [], close: async () => undefined }, { axe: 'content' });
    // The field has the focus: a person types and sends without the mouse.
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByText("This is not the operator's key.").waitFor();
    await page.getByLabel("Operator's key").fill(keyOf(fleet.home));
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await banner.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Operator: sign out' }).waitFor();
    expect(await page.getByText('Only the operator may see or do this.').count()).toBe(0);
  });

  it('at a provider on another site, and comes back to the page; then out again', async () => {
    const accounts = openAccounts({ home: fleet.home, logger: { warn: () => undefined } });
    accounts.create({ name: 'Ava', role: 'operator', identities: ['mail:ava@example.com'] });
    accounts.close();
    // The provider is at 127.0.0.1, which is another site for a browser.
    const { page } = await open(at('agent', '/app#/connections').replace('127.0.0.1', 'localhost'));
    await page.route('https://fonts.googleapis.com/**', (route) => route.abort());
    await page.getByRole('button', { name: 'Sign in as operator' }).last().click();
    await page.getByRole('link', { name: 'Sign in with Example ID' }).click();
    await page.getByPlaceholder('Enter any login').fill('ava');
    await page.getByPlaceholder('and password').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Operator: sign out' }).click();
    expect(new URL(page.url()).hash).toBe('#/connections');
    const dialog = page.getByRole('dialog', { name: 'You are the operator' });
    await dialog.getByRole('button', { name: 'Sign out of Example ID too' }).waitFor();
    await checkLooks({ page, problems: [], close: async () => undefined }, { axe: 'content' });
    await dialog.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in as operator' }).first().waitFor();
  });

  it('not with an old link of the provider; others let a program act for them. No rule of axe is broken', async () => {
    const accounts = openAccounts({ home: fleet.home, logger: { warn: () => undefined } });
    const session = accounts.createSession(accounts.create({ name: 'Bea', role: 'member' }).id);
    accounts.close();
    const opening = await open(at('agent', '/healthz'));
    const { page } = opening;
    await page.goto(at('agent', '/operator/oidc/callback?state=old'));
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
    await checkLooks({ ...opening, problems: [] }, { axe: 'page' });
    await page.context().addCookies([{ name: 'trunkline_operator', value: session, url: at('agent', '/') }]);
    // What answers there does not matter.
    const redirect_uri = at('research', '/healthz');
    const { client_id = '' } = await sent('/oauth/register', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Sailor', redirect_uris: [redirect_uri] }),
    });
    const code_verifier = 'v'.repeat(43);
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
    const asked = { response_type: 'code', client_id, redirect_uri, code_challenge };
    const query = new URLSearchParams({ ...asked, code_challenge_method: 'S256' });
    await page.goto(at('agent', `/oauth/authorize?${query}`));
    await page.getByRole('heading', { name: /^Allow Sailor/ }).waitFor();
    await checkLooks({ ...opening, problems: [] }, { axe: 'page' });
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(/[?&]code=/);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const grant = { grant_type: 'authorization_code', client_id, redirect_uri, code, code_verifier };
    await sent('/oauth/token', { body: new URLSearchParams(grant) });
    await page.goto(at('agent', '/oauth/programs'));
    await page.getByRole('button', { name: 'Disconnect Sailor' }).waitFor();
    await checkLooks({ ...opening, problems: [] }, { axe: 'page' });
  });

  /** As a program does, without a browser. */
  async function sent(path: string, init: RequestInit): Promise<Record<string, string>> {
    const response = await fetch(at('agent', path), { method: 'POST', ...init });
    expect(response.ok, path).toBe(true);
    return (await response.json()) as Record<string, string>;
  }

  it('in the middle of a change, which is made then', async () => {
    const { page } = await open(at('agent', '/app#/skills'));
    const saved = page.evaluate(async () => {
      // As the page sends it, through its own way to the service, is tested below; here the answer counts.
      const response = await fetch('/api/skills/tea', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      return [response.status, response.headers.get('x-error-code')];
    });
    expect(await saved).toEqual([403, 'operator_required']);
    await page
      .getByRole('button', { name: /new skill|add/i })
      .first()
      .click();
    const form = page.getByRole('dialog');
    await form.getByLabel(/name/i).first().fill('tea');
    for (const box of await form.getByRole('textbox').all())
      if ((await box.inputValue()) === '') await box.fill('How to make tea.');
    await form
      .getByRole('button', { name: /save|create|add/i })
      .last()
      .click();
    const question = page.getByRole('dialog', { name: 'Sign in as operator' });
    await question.getByText('Only the operator may do this.').waitFor();
    await page.getByLabel("Operator's key").fill(keyOf(fleet.home));
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    // The form holds the word too, so the service is asked until the change has arrived there.
    const skills = () => page.evaluate(async () => (await fetch('/api/skills')).text());
    await expect.poll(skills).toContain('tea');
    await page.getByText('tea').first().waitFor();
  });

  describe.each(names)('on the page of %s', (name) => {
    it('by the link, and out again, on a desktop and on a phone', async () => {
      const access = operatorAccess(fleet.home);
      const link = operatorLink(access, fleet.target(name).url) ?? '';
      const { page } = await open(link);
      await page.goto(at(name, homes[name]));
      await page.getByRole('button', { name: 'Operator: sign out' }).click();
      await page.getByRole('dialog', { name: 'You are the operator' }).waitFor();
      await checkLooks({ page, problems: [], close: async () => undefined });
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByRole('button', { name: 'Sign in as operator' }).waitFor();
      await page.setViewportSize(phoneWindow);
      await page.getByRole('button', { name: 'More' }).click();
      await page
        .getByRole('dialog', { name: 'More' })
        .getByRole('button', { name: 'Sign in as operator' })
        .click();
      await page.getByRole('dialog', { name: 'Sign in as operator' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });
  });

  it('once with a link, in whichever tab', async () => {
    const { page } = await open(at('switchboard', '/app'));
    await page.getByRole('button', { name: 'Sign in as operator' }).waitFor();
    const link = operatorLink(operatorAccess(fleet.home), fleet.target('voice').url) ?? '';
    const other = await page.context().newPage();
    expect((await other.goto(link))?.status()).toBe(200);
    expect((await other.goto(link))?.status()).toBe(401);
    await page.reload();
    await page.getByRole('button', { name: 'Operator: sign out' }).waitFor();
  });
});

describeWithBrowser('voice beside services that ask for a key, without a roster', () => {
  let browser: TestBrowser;
  let fleet: Locked;
  beforeAll(async () => {
    await ensurePages({ app: 'voice' });
    [browser, fleet] = await Promise.all([launchBrowser(), startLocked({ files: noRoster })]);
  }, START_LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await fleet?.stop();
  });

  it('says how to write users.yaml, and lets the operator sign in', async () => {
    const { page } = await browser.open(fleet.target('voice').url, { reducedMotion: 'reduce' });
    const prompt = page.getByRole('dialog', { name: 'Enter your key' });
    await prompt.getByText(join(fleet.home, 'voice/config/users.yaml')).waitFor();
    await checkLooks({ page, problems: [], close: async () => undefined }, { axe: 'content' });
    await prompt.getByRole('button', { name: 'Sign in as operator' }).click();
    await page
      .getByLabel("Operator's key")
      .fill(readFileSync(join(fleet.home, 'operator-key'), 'utf8').trim());
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate(async () => (await (await fetch('/api/whoami')).json()).id)).toBe('default');
  });
});
