import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { operatorAccess } from '@trunkline/identity';
import {
  axeViolations,
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('the trust page', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return {
      env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0' },
      config: 'knowledge: { embeddings: "off" }',
    };
  });
  afterAll(() => model.stop());

  const signIn = async (page: Page) => {
    const { url, home } = pages.agent();
    await page.goto(`${url}/operator/enter?code=${operatorAccess(home).createCode()}`);
  };
  const openTab = async (id: string) => {
    const opened = await pages.open('/healthz');
    await signIn(opened.page);
    await opened.page.goto(`${pages.agent().url}/trust/${id}`);
    return opened;
  };

  const connectProgram = (person: string) => {
    const accounts = openAccounts({ home: pages.agent().home, logger: { warn: () => undefined } });
    const account = accounts.list().find(({ name }) => name === person)?.id ?? '';
    const [verifier, client] = ['verifier', { clientId: 'sailor', redirect: 'http://127.0.0.1/callback' }];
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const grant = { ...client, account, name: 'Sailor', agent: 'agent', challenge };
    accounts.programs.redeem(accounts.programs.createCode(grant), { ...client, verifier });
    accounts.close();
  };

  it('asks a stranger to sign in, and shows nothing before', async () => {
    const opened = await pages.open('/trust/audit');
    await opened.page.getByText('This page is for the operator').waitFor();
    expect(await opened.page.getByRole('tab').count()).toBe(0);
    await checkLooks(opened);
    await opened.page.getByRole('button', { name: 'Sign in as operator' }).last().click();
    await opened.page.getByRole('dialog', { name: 'Sign in as operator' }).waitFor();
  });

  it('is linked from the pages of the service', async () => {
    const { page } = await pages.open('/');
    await page.getByRole('link', { name: 'Trust' }).click();
    await page.getByRole('heading', { name: 'Trust', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/trust/people');
    await page.getByRole('link', { name: 'Agent' }).click();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
  });

  it('shows what counts, explains a call, and saves the policy with its mistakes named by line', async () => {
    const opened = await openTab('policy');
    const { page } = opened;
    await page.getByText('Guests: every tool that does more than read').waitFor();
    await page.getByText('whoever writes a page, a mail or a message').waitFor();
    await page.getByLabel('Tool', { exact: true }).fill('write_note');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('A person with the right to approve would be asked').waitFor();
    await checkLooks(opened);
    const editor = page.getByRole('textbox', { name: 'policy.yaml' });
    await editor.fill('rules:\n  - { tool: write_note, decision: never }\n');
    await page.getByText('Line 2').waitFor();
    expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
    await editor.fill('rules:\n  - { tool: write_note, decision: deny, reason: Notes are closed. }\n');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Rule 1: write_note').waitFor();
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Decided by rule 1 of policy.yaml').waitFor();
    expect(readFileSync(join(pages.agent().home, 'policy.yaml'), 'utf8')).toContain('Notes are closed.');
  });

  it('adds a person, shows their key once, and revokes it', async () => {
    const accounts = openAccounts({ home: pages.agent().home, logger: { warn: () => undefined } });
    accounts.requestPairing('discord:77', 'Eve');
    accounts.close();
    const opened = await openTab('people');
    const { page } = opened;
    // Whoever waits to be paired is counted on every page.
    await page.getByRole('link', { name: 'Trust 1 asks to be paired' }).waitFor();
    await page.getByText('Nobody has an account yet').waitFor();
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('Name').fill('Ada');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const choose = async (item: string) => {
      await page.getByRole('button', { name: 'More about Ada' }).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await choose('Create a key');
    await page.getByLabel('What it is for').fill('laptop');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const key = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
    expect(key).toMatch(/^tlk_/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await choose('Link an identity');
    await page.getByRole('textbox', { name: 'Identity' }).fill('discord:1234');
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByText('discord:1234', { exact: true }).waitFor();
    connectProgram('Ada');
    await page.reload();
    await page.getByText('Program Sailor at agent, never used').waitFor();
    expect(await page.content()).not.toContain(key);
    await checkLooks(opened);
    await page.getByRole('button', { name: 'Disconnect Sailor' }).click();
    await expect.poll(() => page.getByText('Program Sailor').count()).toBe(0);
    await page.getByRole('button', { name: 'Revoke key laptop' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).last().click();
    await expect.poll(() => page.getByText('Key laptop').count()).toBe(0);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    const asked = page.getByRole('dialog', { name: 'Who is Eve?' });
    await asked.waitFor();
    expect(await axeViolations(page, 'dialog')).toEqual([]);
    await asked.getByLabel('Person').selectOption('Ada');
    await asked.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('discord:77', { exact: true }).waitFor();
    await expect.poll(() => page.getByText('They ask to be let in').count()).toBe(0);
  });

  it('names weak spots and what to do, also in the settings', async () => {
    const opened = await openTab('posture');
    const { page } = opened;
    await page.getByText('Weak spots', { exact: true }).waitFor();
    await page.getByText('readable for you only').waitFor();
    await checkLooks(opened);
    const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 };
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    const box = await page.getByRole('tab', { name: 'Posture', selected: true }).boundingBox();
    expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width, height });
    await page.goto(`${pages.agent().url}/app#/settings`);
    await page.getByRole('link', { name: /What to do|What was looked at/ }).click();
    await page.getByText('Weak spots', { exact: true }).waitFor();
  });

  it('tells in plain words what was done and refused', async () => {
    await pages.agent().fetch('/operator/audit');
    const opened = await openTab('audit');
    const { page } = opened;
    await page.getByText('Somebody unknown was refused GET /operator/audit.').waitFor();
    await page.getByText('Chain whole').waitFor();
    await page.getByText('A browser signed in as operator.').first().click();
    await page.getByText('GET /operator/enter').first().waitFor();
    await checkLooks(opened);
    await page.evaluate(async () => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ role: 'helper', model: null });
      await fetch('/operator/setup/model', { method: 'PUT', headers, body });
    });
    await page.reload();
    await page.getByText('The operator set the helper model.').waitFor();
    await page.getByLabel('What').selectOption('Sign-ins');
    await expect.poll(() => page.getByText('was refused').count()).toBe(0);
    expect(new URL(page.url()).search).toBe('?action=operator.sign-in');
  });

  it('stores and removes secrets, and never shows a value', async () => {
    const opened = await openTab('secrets');
    const { page } = opened;
    await page.getByText('No secret is stored yet').waitFor();
    await page.getByRole('button', { name: 'Add a secret' }).click();
    await page.getByLabel('Name').fill('llm-api-key');
    await page.getByLabel('Value').fill('sesame-page');
    await page.keyboard.press('Enter');
    await page.getByText('never used').waitFor();
    await checkLooks(opened);
    expect(await page.content()).not.toContain('sesame');
    await page.getByRole('button', { name: 'Remove llm-api-key' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No secret is stored yet').waitFor();
  });
});
