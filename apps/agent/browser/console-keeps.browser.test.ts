import { checkLooks, describeWithBrowser, type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment, post } from '../fixtures/start-agent.ts';
import { agentPages } from './pages.suite.ts';

describeWithBrowser('what the agent keeps', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return {
      env: modelEnvironment(model.url),
      config: `
knowledge: { embeddings: "off" }
model: { prices: { test-model: { input: 100, output: 100 } } }
`,
    };
  });
  afterAll(() => model.stop());

  const calling = (name: string, args: object) => ({ toolCalls: [{ name, arguments: args }] });

  it('is searched, mended and forgotten on the memory page', async () => {
    const opened = await pages.open('/app#/memory');
    const { page } = opened;
    await page.getByText('Nothing is remembered yet').waitFor();
    model.enqueue(calling('memory_ingest', { content: 'The cat is called Mia', domain: 'home' }), 'Noted.');
    await pages.agent().send('Remember the cat');
    const chunk = page.getByRole('listitem').filter({ hasText: 'called' });
    await chunk.getByText('The cat is called Mia').waitFor();
    await page.getByRole('button', { name: 'Remember something' }).click();
    await page.getByLabel('What to remember').fill('The dog is called Rex');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => chunk.count()).toBe(2);
    await checkLooks(opened);
    await page.getByLabel('Search').fill('cat');
    await expect.poll(() => chunk.count()).toBe(1);
    await chunk.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('What to remember').fill('The cat is called Minka');
    await page.getByRole('button', { name: 'Save' }).click();
    await chunk.getByText('Minka').waitFor();
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Domain').selectOption('home');
    await expect.poll(() => chunk.count()).toBe(1);
    await chunk.getByRole('button', { name: 'Forget' }).click();
    await expect.poll(() => chunk.count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await chunk.getByText('Minka').waitFor();
  });

  it('stands in notes with tabs, permissions and versions', async () => {
    const opened = await pages.open('/app#/notes');
    const { page } = opened;
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('first words');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/2 words, saved/).waitFor();
    model.enqueue(
      calling('notes_write', { tab: 'Notes', content: 'by the agent', mode: 'replace' }),
      'Written.',
    );
    await pages.agent().send('Write it down');
    await expect.poll(() => text.inputValue()).toBe('by the agent');
    const versions = page.getByRole('region', { name: 'Earlier versions' });
    await versions.getByText('first words').waitFor();
    await checkLooks(opened);
    await versions.getByRole('listitem').filter({ hasText: 'first words' }).getByRole('button').click();
    await expect.poll(() => text.inputValue()).toBe('first words');
    await page.getByLabel('Write in it').click();
    await expect.poll(() => page.getByLabel('Write in it').isChecked()).toBe(false);
    model.enqueue(calling('notes_write', { tab: 'Notes', content: 'no' }), 'Not allowed.');
    await pages.agent().send('Write again');
    const refused = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'tool')?.content;
    expect(String(refused)).toContain('not open for writing');
    await page.getByRole('button', { name: 'New tab' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Ideas');
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'Ideas' }).waitFor();
    await text.fill('an idea');
    await page.keyboard.press('Control+s');
    await page.getByText(/2 words, saved/).waitFor();
    await page.getByRole('button', { name: 'Delete the tab' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('tab', { name: 'Ideas' }).waitFor({ state: 'detached' });
  });

  it('is told with figures over time', async () => {
    const opened = await pages.open('/app#/telemetry');
    const { page } = opened;
    await page.getByRole('img', { name: /^Tokens over time/ }).waitFor();
    const row = page.getByRole('row').filter({ hasText: 'test-model' });
    const before = Number((await row.getByRole('cell').first().textContent())?.replace(/\D/g, ''));
    // An endpoint that counts nothing: the figures are estimates, and say so.
    model.enqueue({ text: 'One more.', usage: { input: 0, output: 0 } });
    await pages.agent().send('Again');
    await expect
      .poll(async () => Number((await row.getByRole('cell').first().textContent())?.replace(/\D/g, '')))
      .toBe(before + 1);
    for (const title of ['Cost', 'Tokens'])
      await page.getByRole('figure', { name: title }).getByText('≈ partly estimated').waitFor();
    expect(await page.getByText('≈ partly estimated').count()).toBe(2);
    await page.getByText(/^≈ \$[\d.]+ in all$/).waitFor();
    await row.getByRole('cell', { name: /^≈ \$/ }).waitFor();
    const plot = page.getByRole('figure', { name: 'Tokens' });
    await plot.getByRole('img').focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => plot.textContent()).toMatch(/In (≈ )?[\d,]+ · Out (≈ )?\d+/);
    await checkLooks(opened);
    await page.getByLabel('Span').selectOption('1440');
    await plot.getByRole('img').waitFor();
  });

  it('is told call by call in the audit log, with filters', async () => {
    const opened = await pages.open('/app#/audit');
    const { page } = opened;
    const calls = page.getByRole('region', { name: 'Calls' }).getByRole('listitem');
    await calls.filter({ hasText: 'notes_write' }).first().waitFor();
    model.enqueue(calling('calculator', { expression: '1/0' }), 'It cannot be done.');
    await pages.agent().send('Divide');
    const failed = calls.filter({ hasText: 'division by zero' });
    await failed.waitFor();
    await failed.getByText('calculator').click();
    await failed.getByText('"expression": "1/0"').waitFor();
    await checkLooks(opened);
    await page.getByLabel('Outcome').selectOption('false');
    await expect.poll(() => calls.filter({ hasText: 'memory_ingest' }).count()).toBe(0);
    await page.getByLabel('Tool').fill('calculator');
    await expect.poll(() => calls.count()).toBe(1);
    await page.getByLabel('Words').fill('nothing like it');
    await page.getByText('No call fits').waitFor();
  });

  it('is listed page by page', async () => {
    for (let count = 0; count < 60; count += 1) {
      await pages.agent().fetch('/api/knowledge/chunks', post({ content: `fact ${count}`, domain: 'many' }));
    }
    const { page } = await pages.open('/app#/memory');
    const facts = page.getByRole('listitem').filter({ hasText: 'fact' });
    await page.getByLabel('Domain').selectOption('many');
    await expect.poll(() => facts.count()).toBe(50);
    await facts.last().scrollIntoViewIfNeeded();
    await expect.poll(() => facts.count()).toBe(60);
  });
});
