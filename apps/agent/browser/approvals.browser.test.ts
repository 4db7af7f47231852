import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorAccess } from '@trunkline/identity';
import {
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  phoneWindow,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

const config = 'knowledge: { embeddings: "off" }\nfilesystem: { run_command: true }';

describeWithBrowser('approvals on the pages', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return { env: { ...modelEnvironment(model.url), TRUNKLINE_OPEN: '0' }, config };
  });
  afterAll(() => model.stop());

  const run = (command: string) => ({ toolCalls: [{ name: 'run_command', arguments: { command } }] });
  const say = async (page: Page, text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
  };
  const card = (page: Page) => page.getByRole('region', { name: 'May I run this command?' });
  const signIn = async (page: Page) => {
    const { url, home } = pages.agent();
    await page.goto(`${url}/operator/enter?code=${operatorAccess(home).createCode()}`);
  };

  it('tell a stranger where to approve, and give no button', async () => {
    model.enqueue(run('echo stranger'));
    const { page } = await pages.open('/');
    await say(page, 'Run it');
    await card(page).getByText('Only the operator can approve this').waitFor();
    expect(
      await card(page)
        .getByRole('button', { name: /approve|deny/i })
        .count(),
    ).toBe(0);
    await say(page, 'yes');
    await card(page).getByText('This still waits').waitFor();
  });

  it('show the operator the whole command, and run it once', async () => {
    const { url, home } = pages.agent();
    const command = `echo from-the-shell${'\n'.repeat(91)}printf '\\033' ${' '.repeat(300)}; echo \u202ehidden`;
    model.enqueue(run(command));
    const opened = await pages.open('/');
    const { page } = opened;
    await signIn(page);
    await say(page, 'Run it');
    const shown = card(page).locator('pre');
    await shown.getByText('lines 2 to 91 are blank').waitFor();
    expect(await shown.textContent()).toMatch(/92 │ printf '\\033'‹301 spaces›; echo ‹U\+202E›hidden$/);
    await card(page)
      .getByText(`The command, 92 lines, ${[...command].length} characters`)
      .waitFor();
    // Nothing of it is out of reach: it is wrapped, and scrolls.
    expect(await shown.evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
    await checkLooks(opened);
    model.enqueue('Done.');
    await card(page).getByRole('button', { name: 'Approve once' }).click();
    await page.getByText('Done.').waitFor();
    expect(await card(page).count()).toBe(0);
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toContain('from-the-shell');
    const key = readFileSync(operatorAccess(home).keyFile, 'utf8').trim();
    const left = await fetch(`${url}/api/approvals`, { headers: { authorization: `Bearer ${key}` } });
    expect(JSON.stringify(await left.json())).not.toContain('from-the-shell');
  });

  it('show why a call is held after text from outside, and let it run for the task', async () => {
    const write = (path: string) => ({
      toolCalls: [{ name: 'write_file', arguments: { path, content: 'A summary.' } }],
    });
    model.enqueue({ toolCalls: [{ name: 'check_inbox', arguments: {} }] }, write('notes/a.md'));
    const opened = await pages.open('/');
    const { page } = opened;
    await signIn(page);
    const put = await page.request.post(`${pages.agent().url}/api/inbox`, {
      data: { text: 'Keep a summary', priority: 'next' },
    });
    expect(put.status()).toBeLessThan(300);
    await say(page, 'Read the inbox and keep a summary');
    const forTask = page.getByRole('button', { name: 'Approve for this task' });
    await forTask.waitFor();
    await page.getByText('text from outside').first().waitFor();
    await checkLooks(opened);
    model.enqueue(write('notes/b.md'), 'Both are written.');
    await forTask.click();
    await page.getByText('Both are written.').waitFor();
    expect(model.chats().at(-1)?.messages.at(-1)?.content).not.toContain('Error:');
  });

  it('are given by taps on a phone, once and for always', async () => {
    model.enqueue(run('echo tapped'));
    const { page } = await pages.open('/', { viewport: phoneWindow, hasTouch: true });
    await signIn(page);
    await say(page, 'Run it');
    const once = card(page).getByRole('button', { name: 'Approve once' });
    await once.waitFor();
    model.enqueue('It ran.');
    await once.tap();
    await page.getByText('It ran.').waitFor();
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toContain('tapped');
    const write = {
      toolCalls: [{ name: 'write_file', arguments: { path: 'notes/always.md', content: 'A summary.' } }],
    };
    const readInbox = { toolCalls: [{ name: 'check_inbox', arguments: {} }] };
    const putIntoInbox = async () => {
      const data = { text: 'Keep a summary', priority: 'next' };
      const put = await page.request.post(`${pages.agent().url}/api/inbox`, { data });
      expect(put.status()).toBeLessThan(300);
    };
    await putIntoInbox();
    model.enqueue(readInbox, write);
    await say(page, 'Read the inbox and keep a summary');
    const always = page.getByRole('button', { name: 'Always allow' });
    await always.waitFor();
    model.enqueue('It is written.');
    await always.tap();
    await page.getByText('It is written.').waitFor();
    const rules = readFileSync(join(pages.agent().home, 'policy.yaml'), 'utf8');
    expect(rules).toMatch(/tool: write_file\s+arguments:\s+path: notes\/always\.md\s+decision: allow/);
    await putIntoInbox();
    model.enqueue(readInbox, write, 'Written without asking.');
    await say(page, 'Once more');
    await page.getByText('Written without asking.').waitFor();
    expect(model.chats().at(-1)?.messages.at(-1)?.content).not.toContain('Error:');
  });

  it('are denied with a reason, on the page of the task too', async () => {
    model.enqueue(run('echo denied'));
    const task = await pages.agent().send('Run it for me');
    const { page } = await pages.open('/');
    await signIn(page);
    await page.goto(`${pages.agent().url}/app#/tasks`);
    await page.getByText('Run it for me').first().click();
    model.enqueue('Then not.');
    await card(page).getByLabel('Why not (optional)').fill('too loud');
    await card(page).getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Then not.').first().waitFor();
    const detail = page.getByRole('complementary', { name: 'Task' });
    await detail.getByText('Done, 1 call denied', { exact: true }).waitFor();
    const line = page.getByRole('listitem').filter({ hasText: 'Run it for me' });
    await line.getByText('1 call denied · Then not.').waitFor();
    const { result } = await pages.agent().rpc('tasks/get', { id: task.id });
    expect(result.status.state).toBe('completed');
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toContain('too loud');
  });
});
