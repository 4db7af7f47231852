import { checkLooks, describeWithBrowser, type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment, post } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('chats that others began', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return { env: modelEnvironment(model.url), config: 'knowledge: { embeddings: "off" }' };
  });
  afterAll(() => model.stop());

  const chats = (page: Page) => page.getByRole('navigation', { name: 'Chats' });
  const lastTurn = (page: Page) => page.getByRole('article', { name: 'Turn' }).last();
  const titles = (page: Page) => chats(page).getByRole('link').allInnerTexts();
  const wide = { viewport: { width: 1440, height: 900 } };

  it('come up in the list as they begin, say from where they are, and are narrowed down', async () => {
    const opened = await pages.open('/', wide);
    const { page } = opened;
    await chats(page).getByText('No chats yet').waitFor();
    model.enqueue('Here is the weather.', 'I hear it.', 'Good evening.');
    await pages.agent().send('What is the weather in Oslo?', { contextId: 'weather' });
    await chats(page)
      .getByRole('link', { name: /weather in Oslo.*Agent/s })
      .waitFor();
    await pages.agent().fetch('/api/inbox', post({ text: 'The door bell rang', priority: 'now' }));
    await chats(page)
      .getByRole('link', { name: /door bell rang.*Inbox/s })
      .waitFor();
    const metadata = { channel: 'terminal' };
    await pages.agent().send('Good evening', { contextId: 'evening' }, { metadata });
    await chats(page)
      .getByRole('link', { name: /Good evening.*Terminal/s })
      .waitFor();
    await page.getByLabel('Started by').selectOption('People');
    await expect.poll(async () => (await titles(page)).length).toBe(1);
    await page.reload();
    await chats(page).getByText('Good evening').waitFor();
    expect(await titles(page)).toHaveLength(1);
    await page.getByLabel('Started by').selectOption('The inbox');
    await chats(page).getByText('The door bell rang').waitFor();
    await page.getByLabel('Started by').selectOption('Anyone');
    await expect.poll(async () => (await titles(page)).length).toBe(3);
    await chats(page).getByRole('link', { name: /Oslo/ }).click();
    await lastTurn(page).getByText('Here is the weather.').waitFor();
    await page.getByRole('heading', { name: 'What is the weather in Oslo?' }).waitFor();
    await checkLooks(opened);
  });

  it('grow while they are open, and a question in them is answered here', async () => {
    const { page } = await pages.open('/#/chat/paint', wide);
    await page.getByRole('heading', { name: 'What shall I do for you?' }).waitFor();
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
    await pages.agent().send('Paint the fence', { contextId: 'paint' });
    const question = page.getByRole('region', { name: 'Which colour?' });
    await question.getByLabel('Your answer').fill('blue');
    model.enqueue('It is blue now.');
    await page.keyboard.press('Enter');
    await lastTurn(page).getByText('It is blue now.').waitFor();
    model.enqueue('It dries.');
    await pages.agent().send('How is it?', { contextId: 'paint' });
    await lastTurn(page).getByText('It dries.').waitFor();
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(2);
  });

  it('are opened on a phone from the sheet of chats', async () => {
    const opened = await pages.open('/', { viewport: { width: 390, height: 844 } });
    const { page } = opened;
    await page.getByRole('button', { name: 'Chats', exact: true }).click();
    await page.getByLabel('Started by').selectOption('Agents and programs');
    await chats(page).getByRole('link', { name: /Oslo/ }).waitFor();
    await expect.poll(async () => (await titles(page)).some((title) => title.includes('bell'))).toBe(false);
    await checkLooks(opened);
    await chats(page).getByRole('link', { name: /Oslo/ }).click();
    await lastTurn(page).getByText('Here is the weather.').waitFor();
  });
});
