import {
  checkLooks,
  describeWithBrowser,
  desktopWindow,
  type ModelServer,
  mcpProgram,
  phoneWindow,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { consolePages } from './pages.suite.ts';

describeWithBrowser('how the switchboard is set up', () => {
  let model: ModelServer;
  const pages = consolePages(async () => {
    model = await startModelServer({ script: () => 'At your service.' });
    return { env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'plain-model' } };
  });
  afterAll(() => model.stop());

  it('routes are written with messages at their lines, tried, and removed with a way back', async () => {
    const opened = await pages.open('/app#/routes');
    const { page } = opened;
    await page.getByText('No routes yet').waitFor();
    await page.getByLabel('Message').fill('Is there an outage?');
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('incidents by warden').waitFor();
    await page.getByText('rule: keyword').waitFor();
    await page.getByLabel('Topic').fill('bell.rang');
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('Goes nowhere (no_skill)').waitFor();
    await checkLooks(opened);
    await page.getByRole('link', { name: 'New route' }).click();
    await page.getByLabel('Messages on the topic').waitFor();
    await page.getByRole('button', { name: 'Edit as YAML' }).click();
    const editor = page.getByRole('textbox', { name: 'The route as YAML' });
    await editor.fill('name: bell\nwhen: { topic: bell.rang }\nthen: { skil: chat }\n');
    const wrong = page.getByRole('alert', { name: 'What is wrong' });
    await wrong.getByText('Line 3').first().waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await checkLooks(opened);
    await editor.fill('name: bell\nwhen: { topic: bell.rang }\nthen: { skill: chat }\n');
    await page.getByText('Not saved yet').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: 'bell', level: 1 }).waitFor();
    expect(await page.getByLabel('Messages on the topic').inputValue()).toBe('bell.rang');
    await page.getByRole('button', { name: 'Edit as YAML' }).click();
    await page.getByText('This is what is in force.').waitFor();
    await page.getByLabel('Topic').fill('bell.rang');
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Try it' }).click();
        return await page.getByText('chat by helm').count();
      })
      .toBe(1);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No routes yet').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: 'bell' }).waitFor();
  });

  it('agents are written, and tried with a message', async () => {
    const opened = await pages.open('/app#/agents');
    const { page } = opened;
    await page.getByRole('link', { name: 'helm' }).waitFor();
    await checkLooks(opened);
    await page.getByRole('link', { name: 'New agent' }).click();
    await page.getByLabel('Name').fill('scribe');
    await page.getByLabel('Instructions').fill('You write short summaries.');
    await page.getByRole('checkbox', { name: 'Read incidents' }).check();
    await page.getByRole('button', { name: 'Add a skill' }).click();
    await page.getByLabel('Skill', { exact: true }).fill('summarise');
    await page.getByLabel('Keywords, separated by commas').fill('summary, summarise');
    await checkLooks(opened);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'scribe', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Edit as YAML' }).click();
    const editor = page.getByRole('textbox', { name: 'The agent as YAML' });
    await expect.poll(() => editor.inputValue()).toContain('- get_incidents');
    expect(await editor.inputValue()).toContain('- summary');
    await page.getByLabel('Message').fill('Sum this up');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByText('At your service.').waitFor();
    await checkLooks(opened);
    await page.route('**/publish', (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByRole('alert').getByText('Not sent').waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('alert').getByText('Not sent').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Show the flow' }).click();
    await page.getByRole('heading', { name: 'Sum this up', level: 1 }).waitFor();
    await page.getByText('summarise by scribe').first().waitFor();
    await page.goto(`${pages.service().url}/app#/agents`);
    await page.getByRole('button', { name: 'Connect one' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('afar');
    await form.getByLabel('Address').fill('http://127.0.0.1:9/a2a');
    const key = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    await form.getByLabel('Keys of its card').fill(JSON.stringify([key]));
    await form.getByLabel('Other hosts').fill('afar.example');
    const saved = page.waitForRequest((request) => request.method() === 'POST');
    await form.getByRole('button', { name: 'Connect it' }).click();
    expect((await saved).postDataJSON()).toMatchObject({ cardKeys: [key], cardHosts: ['afar.example'] });
    await page.getByRole('link', { name: 'afar' }).click();
    await page.getByText('Cannot reach afar.').waitFor();
  });

  it('agents elsewhere show whether their card is signed, and by a known key', async () => {
    const other = await startSwitchboard();
    onTestFinished(() => other.stop());
    const published = (await (await fetch(`${other.url}/.well-known/jwks.json`)).json()) as {
      keys: object[];
    };
    const strange = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
    const entries = { known: { cardKeys: published.keys }, unknown: {}, forged: { cardKeys: [strange] } };
    const { call } = pages.service();
    for (const [name, keys] of Object.entries(entries)) {
      const { status } = await call('/api/external-agents', { name, url: `${other.url}/a2a`, ...keys });
      expect(status).toBe(201);
    }
    const opened = await pages.open('/app#/agents');
    const { page } = opened;
    const row = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) });
    const card = (name: string, words: string) =>
      row(name).getByText(words).filter({ visible: true }).waitFor();
    await card('known', 'Card verified');
    await card('unknown', 'Card signed, not checked');
    await row('unknown').getByTitle('no key was named to check it with').waitFor();
    await row('forged').getByText('Not reached').waitFor();
    expect(await row('forged').getByText(/Card/).count()).toBe(0);
    await checkLooks(opened);
    await page.setViewportSize(phoneWindow);
    await card('unknown', 'Card signed, not checked');
    await page.setViewportSize(desktopWindow);
    await page.getByRole('link', { name: 'known', exact: true }).click();
    await page.getByText('Card verified', { exact: true }).waitFor();
    await page.goto(`${pages.service().url}/app#/agents/unknown`);
    await page.getByText('To check it from now on, connect it again with the keys').waitFor();
    await page.getByRole('link', { name: 'Signed cards' }).click();
    await page.getByRole('heading', { name: 'Signed cards' }).waitFor();
    await page.goto(`${pages.service().url}/app#/agents/forged`);
    await page.getByRole('alert').getByText(/sign/).waitFor();
  });

  it('MCP servers are tested, added, switched and removed', async () => {
    const opened = await pages.open('/app#/servers');
    const { page } = opened;
    await page.getByText('No MCP servers yet').waitFor();
    await page.getByRole('button', { name: 'Add a server' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('sums');
    await form.getByLabel('Or command').fill(process.execPath);
    await form.getByLabel('Arguments').fill(mcpProgram);
    await form.getByRole('button', { name: 'Test' }).click();
    await page
      .getByText(/sums answers with \d tools?\./)
      .first()
      .waitFor();
    await form.getByRole('button', { name: 'Add it' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'sums' }).filter({ hasText: 'trusted' });
    await row.getByText('Connected').waitFor();
    await row.getByText('add', { exact: true }).waitFor();
    await checkLooks(opened);
    await row.getByRole('switch', { name: 'Use sums' }).click();
    await row.getByText('Off').waitFor();
    await row.getByRole('switch', { name: 'Use sums' }).click();
    await row.getByText('Connected').waitFor();
    await row.getByRole('button', { name: 'Test sums' }).click();
    await page
      .getByText(/sums answers/)
      .first()
      .waitFor();
    await row.getByRole('button', { name: 'Remove sums' }).click();
    await page.getByText('No MCP servers yet').waitFor();
  });

  it('schedules are added, run, paused, changed and removed, with their history', async () => {
    const opened = await pages.open('/app#/schedules', { timezoneId: 'Asia/Tokyo' });
    const { page } = opened;
    await page.getByText('Nothing is scheduled').waitFor();
    await page.getByRole('button', { name: 'Add a schedule' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Name').fill('morning');
    await form.getByLabel('Repeats').selectOption('Cron fields');
    await form.getByLabel('Cron', { exact: true }).fill('whenever');
    await form.getByLabel('What the agent reads').fill('Say good morning');
    await form.getByRole('button', { name: 'Schedule it' }).click();
    await page
      .getByText(/whenever/)
      .first()
      .waitFor();
    expect(opened.problems.splice(0)).toHaveLength(1);
    await form.getByLabel('Repeats').selectOption('Monday to Friday');
    const ahead = form.getByRole('list', { name: 'Next runs' });
    await expect.poll(() => ahead.getByText('09:00').count()).toBe(3);
    await form.getByRole('button', { name: 'Schedule it' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'Say good morning' });
    const times = row.getByRole('list', { name: 'Next runs' }).getByRole('listitem');
    await expect.poll(() => times.count()).toBe(5);
    await row.getByText('Monday to Friday at 09:00 Asia/Tokyo').waitFor();
    await row.getByRole('button', { name: 'Run morning now' }).click();
    await row.getByRole('link', { name: 'morning' }).click();
    const history = page.getByRole('list', { name: 'History' });
    await history.getByText('done').waitFor();
    await history.getByText('by hand').waitFor();
    await checkLooks(opened);
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Pause morning' }).click();
    await row.getByText('Paused').waitFor();
    await row.getByRole('button', { name: 'Resume morning' }).click();
    await row.getByText('On', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Change morning' }).click();
    expect(await form.getByLabel('Repeats').locator('option:checked').textContent()).toBe('Monday to Friday');
    expect(await form.getByLabel('At', { exact: true }).inputValue()).toBe('09:00');
    await form.getByLabel('What the agent reads').fill('Say good evening');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Say good evening').waitFor();
    await page.getByRole('button', { name: 'Remove morning' }).click();
    await page.getByText('Nothing is scheduled').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Say good evening').waitFor();
  });

  it('ceremonies are shown and begun by hand', async () => {
    pages
      .service()
      .write(
        'ceremonies/standup.yaml',
        'id: standup\nname: Stand-up\nschedule: "0 9 * * 1-5"\nskill: chat\ntargets: [helm]\n',
      );
    const opened = await pages.open('/app#/schedules/ceremonies');
    const { page } = opened;
    const row = page.getByRole('listitem').filter({ hasText: 'Stand-up' });
    await row.getByRole('button', { name: 'Run now' }).click();
    await row.getByText('Done').waitFor();
    await checkLooks(opened);
  });

  it('ceremonies are written with messages at their lines, performed, and removed with a way back', async () => {
    const opened = await pages.open('/app#/schedules/ceremonies');
    const { page } = opened;
    await page.getByRole('link', { name: 'New ceremony' }).click();
    const editor = page.getByRole('textbox', { name: 'The ceremony as YAML' });
    await expect.poll(() => editor.inputValue()).toContain('id: standup');
    await editor.fill('id: retro\nname: Retrospective\nschedule: every Friday\nskill: chat\n');
    const wrong = page.getByRole('alert', { name: 'What is wrong' });
    await wrong.getByText('Line 3').first().waitFor();
    await wrong.getByText(/every Friday/).waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await checkLooks(opened);
    await editor.fill('id: retro\nname: Retrospective\nschedule: 0 15 * * 5 # Fridays\nskill: chat\n');
    await page.getByText('Not saved yet').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: 'retro', level: 1 }).waitFor();
    await page.getByText('This is what is in force.').waitFor();
    await page.getByText('It has not run yet').waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('list', { name: 'Runs' }).getByText('Done').waitFor();
    await checkLooks(opened);
    await page.getByRole('link', { name: 'All ceremonies' }).click();
    await page.getByRole('link', { name: 'Change Retrospective' }).click();
    await expect.poll(() => editor.inputValue()).toContain('# Fridays');
    await page.getByRole('button', { name: 'Remove' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'Retrospective' });
    await row.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await row.waitFor();
  });

  it('changes are listed with their differences, and taken back', async () => {
    await pages
      .service()
      .call('/api/routes', '{"name":"once","when":{"topic":"a.b"},"then":{"skill":"chat"}}');
    const opened = await pages.open('/app#/changes');
    const { page } = opened;
    const row = page.getByRole('listitem').filter({ hasText: 'routes.d/once.yaml' });
    await row.getByText('added').waitFor();
    await row.getByRole('button', { name: /routes.d\/once.yaml/ }).click();
    await row.getByText('+name: once').waitFor();
    await checkLooks(opened);
    await row.getByRole('button', { name: 'Take back' }).click();
    await page.getByText('removed', { exact: true }).first().waitFor();
    await row.filter({ hasText: 'added' }).getByText('taken back', { exact: true }).waitFor();
    const routes = async () => JSON.stringify((await pages.service().call('/api/routes')).body.data);
    await expect.poll(routes).not.toContain('"once"');
  });

  it('a change of a file that no command writes has no button to take it back', async () => {
    const { page } = await pages.open('/app');
    const change = { id: 1, at: Date.now(), by: 'edited by hand', reason: null, before: null, after: 'a: b' };
    const shown = (file: string, canUndo: boolean, id: number) => ({
      ...change,
      id,
      file,
      canUndo,
      undoes: null,
      diff: '+a: b',
    });
    const data = [shown('keys.yaml', false, 2), shown('routes.d/a.yaml', true, 1)];
    await page.route('**/api/changes?*', (route) => route.fulfill({ json: { data } }));
    await page.goto(`${pages.service().url}/app#/changes`);
    const button = (file: string) =>
      page.getByRole('listitem').filter({ hasText: file }).getByRole('button', { name: 'Take back' });
    await button('routes.d/a.yaml').waitFor();
    expect(await page.getByText('keys.yaml', { exact: true }).count()).toBe(1);
    expect(await button('keys.yaml').count()).toBe(0);
  });

  it('nodes are listed with their version and what they lead', async () => {
    const opened = await pages.open('/app#/nodes', { viewport: phoneWindow, hasTouch: true });
    const { page } = opened;
    const row = page.getByRole('row').filter({ hasText: 'this one' });
    await row.getByText('schedules').waitFor();
    await page.getByText('Set NATS_URL to run several.').waitFor();
    await checkLooks(opened);
  });

  it('parts say what switches them on, and a broken file is named', async () => {
    const opened = await pages.open('/app#/plugins');
    const { page } = opened;
    await page
      .getByText(/CHAT_BOT_TOKEN/)
      .first()
      .waitFor();
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    await page.getByText('Publishes the messages of schedules at their times.').waitFor();
    pages.service().write('routes.d/broken.yaml', 'name: broken\nwhen: 5\n');
    await page.getByText('routes.d/broken.yaml cannot be used.').waitFor();
    await checkLooks(opened);
  });
});
