import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorAccess } from '@trunkline/identity';
import {
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  phoneWindow,
  startModelServer,
  temporaryDirectory,
  type WindowOptions,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import type { Json } from '../fixtures/start-switchboard.ts';
import { consolePages } from './pages.suite.ts';

describeWithBrowser('an approval on the page of the switchboard', () => {
  const home = temporaryDirectory();
  const policyFile = join(home.path, 'policy.yaml');
  let model: ModelServer;
  const pages = consolePages(async () => {
    model = await startModelServer();
    writeFileSync(
      policyFile,
      'rules: [{ agent: helm, tool: write_file, decision: ask, reason: The harbour master reads it first. }]\n',
    );
    return {
      home: home.path,
      env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'test-model', TRUNKLINE_OPEN: '0' },
      files: {
        'agents/helm.yaml': agent('helm', 'role: general\ntools: [get_incidents]\nskills: [{ name: chat }]'),
      },
    };
  });
  afterAll(async () => {
    await model.stop();
    home.remove();
  });

  const write = (name: string, content = 'Three ships.') => ({
    toolCalls: [{ name: 'write_file', arguments: { path: `log/${name}.md`, content } }],
  });
  /** What was written under the name; undefined where nothing was. */
  const written = (name: string): string | undefined => {
    const file = join(home.path, `switchboard/files/log/${name}.md`);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  const ask = (content: string) =>
    pages.service().call('/publish', {
      topic: 'agent.skill.request',
      payload: { skillHint: 'chat', content },
    });
  const asOperator = () => ({
    authorization: `Bearer ${readFileSync(operatorAccess(home.path).keyFile, 'utf8').trim()}`,
  });
  const lastLine = async (): Promise<Json> =>
    (await pages.service().call('/operator/audit?action=approval', undefined, asOperator())).body.entries[0];
  const openSignedIn = async (window?: WindowOptions) => {
    const opened = await pages.open('/healthz', window);
    const { url } = pages.service();
    await opened.page.goto(`${url}/operator/enter?code=${operatorAccess(home.path).createCode()}`);
    await opened.page.goto(`${url}/app#/questions`);
    await opened.page.getByText('Nobody asks anything').waitFor();
    const card = opened.page.getByRole('region', { name: 'helm: May I use write_file?' });
    return { ...opened, card, button: (name: string) => card.getByRole('button', { name }) };
  };
  const told = () => JSON.stringify(model.chats().at(-1)?.messages);

  it('is shown whole, is given by the operator alone, and by keyboard', async () => {
    model.enqueue(write('open'));
    await ask('Write that the harbour is open');
    const stranger = await pages.open('/app#/questions');
    await stranger.page.getByText('Only the operator can approve this').waitFor();
    expect(await stranger.page.getByRole('button', { name: /approve|deny|allow/i }).count()).toBe(0);
    await stranger.page.goto(
      `${pages.service().url}/operator/enter?code=${operatorAccess(home.path).createCode()}`,
    );
    await stranger.page.goto(`${pages.service().url}/app#/questions`);
    const { page } = stranger;
    const card = page.getByRole('region', { name: 'helm: May I use write_file?' });
    await card.getByText('The harbour master reads it first; "for this task" covers').waitFor();
    const shown = await card.locator('pre').textContent();
    expect(shown).toContain('"path": "log/open.md"');
    expect(shown).toContain('"content": "Three ships."');
    await card.getByText('Decided by rule 1 of policy.yaml.').waitFor();
    expect(await page.getByLabel('Your answer').count()).toBe(0);
    await checkLooks(stranger, { axe: 'content' });
    expect(written('open')).toBeUndefined();
    model.enqueue('It is open.');
    // From the reason to the last button: deny, always, for the task, once.
    await card.getByLabel('Why not (optional)').focus();
    for (const name of ['Deny', 'Always allow', 'Approve for this task', 'Approve once']) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(name);
    }
    await page.keyboard.press('Enter');
    await page.getByText('Nobody asks anything').waitFor();
    // The button went with the question; the focus stays in the content, where the list was.
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.closest('#content') !== null))
      .toBe(true);
    expect(await page.title()).toBe('Questions · Switchboard · Trunkline');
    await expect.poll(() => written('open')).toBe('Three ships.');
    expect(await lastLine()).toMatchObject({
      ...{ service: 'switchboard', principal: 'operator:operator', subject: 'write_file' },
      ...{ decision: 'allow', result: expect.stringMatching(/^once; SHA-256 of what was shown: \w{64}$/) },
    });
  });

  it('is not denied to exist to whoever has not signed in yet', async () => {
    const { page } = await pages.open('/app#/questions');
    await page.getByText('No question for you').waitFor();
    await page.locator('#content').getByRole('button', { name: 'Sign in as operator' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('trunkline login').waitFor();
    await dialog.getByLabel("Operator's key").fill(asOperator().authorization.replace('Bearer ', ''));
    await page.keyboard.press('Enter');
    await page.getByText('Nobody asks anything').waitFor();
  });

  it('is given for the task by a tap on a phone', async () => {
    const { page, card, button, problems } = await openSignedIn({ viewport: phoneWindow, hasTouch: true });
    model.enqueue(write('tide'));
    await ask('Write of the tide twice');
    await card.waitFor();
    model.enqueue(write('ebb'), 'Both are written.');
    await button('Approve for this task').tap();
    await page.getByText('Nobody asks anything').waitFor();
    await expect.poll(() => written('ebb')).toBe('Three ships.');
    expect(written('tide')).toBe('Three ships.');
    expect((await lastLine()).result).toMatch(/^for the task;/);
    // Another task asks again.
    model.enqueue(write('tide', 'Four ships.'));
    await ask('Write of the tide again');
    await card.waitFor();
    expect(written('tide')).toBe('Three ships.');
    model.enqueue('It is written.');
    await button('Approve once').tap();
    await expect.poll(() => written('tide')).toBe('Four ships.');
    expect(problems).toEqual([]);
  });

  it('is denied with a reason, which the agent reads', async () => {
    const { page, card, button } = await openSignedIn();
    model.enqueue(write('closed'));
    await ask('Write that the harbour is closed');
    await card.getByLabel('Why not (optional)').fill('a ship is due');
    model.enqueue('Then it stays open.');
    await button('Deny').click();
    await page.getByText('Nobody asks anything').waitFor();
    await expect.poll(told).toContain('a ship is due');
    expect(written('closed')).toBeUndefined();
    expect(await lastLine()).toMatchObject({ subject: 'write_file', decision: 'deny' });
    // The agent has answered, but the flow does not look as if its work were done.
    await page.goto(`${pages.service().url}/app#/flows`);
    const flow = page.getByRole('listitem').filter({ hasText: 'Write that the harbour is closed' });
    await flow.getByText('Not approved').waitFor();
    await flow.getByRole('link').click();
    await page.getByText('Somebody denied what the agent asked to do').waitFor();
    await page.getByText('was no: it was not approved').waitFor();
  });

  it('is given for always, as a rule of the policy', async () => {
    const { page, card, button } = await openSignedIn();
    model.enqueue(write('fog'));
    await ask('Write of the fog');
    await card.waitFor();
    model.enqueue('It is written.');
    await button('Always allow').click();
    await page.getByText('Nobody asks anything').waitFor();
    await expect.poll(() => written('fog')).toBe('Three ships.');
    expect(readFileSync(policyFile, 'utf8')).toMatch(
      /tool: write_file,?\s+arguments: {\s*path: log\/fog\.md\s*},?\s+decision: allow/,
    );
    expect((await lastLine()).result).toMatch(/^always;/);
    model.enqueue(write('fog', 'Fog again.'), 'It is written again.');
    await ask('Write of the fog again');
    await expect.poll(() => written('fog')).toBe('Fog again.');
  });
});
