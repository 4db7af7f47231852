// What a new user does with "npm start" and no key: the offline demo model answers.
import { checkLooks, describeWithBrowser } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('the chat page with no key', () => {
  const pages = agentPages(async () => ({ config: 'knowledge: { embeddings: "off" }' }));

  const say = async (page: Page, text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
  };
  const lastTurn = (page: Page) => page.getByRole('article', { name: 'Turn' }).last();
  const answered = async (page: Page, words: RegExp) => {
    await expect.poll(() => lastTurn(page).textContent()).toMatch(words);
    await expect.poll(() => lastTurn(page).getAttribute('aria-busy')).toBe('false');
  };

  it('greets with things to ask, each a click away', async () => {
    const opened = await pages.open('/');
    const { page } = opened;
    await page.getByRole('heading', { name: 'What shall I do for you?' }).waitFor();
    await page.getByText(/A small demo model answers/).waitFor();
    await checkLooks(opened);
    await page.getByRole('button', { name: 'What time is it in Tokyo?' }).click();
    await answered(page, /Tokyo/);
  });

  it('tells the time, remembers and recalls, and shows a reminder in the chat and in the activity feed', async () => {
    const opened = await pages.open('/');
    const { page } = opened;
    await say(page, 'What time is it in Tokyo?');
    await answered(page, /\d\d:\d\d/);
    await say(page, 'Remember that my door code is 4711');
    await answered(page, /4711|remember|stored/i);
    await say(page, 'What do you know about my door code?');
    await answered(page, /4711/);
    await say(page, 'Remind me in 2 seconds to stretch');
    await answered(page, /stretch/);
    const due = page.getByRole('article', { name: 'Turn' }).filter({ hasText: 'Scheduled in this chat' });
    await due.getByText('Here is your reminder: stretch.').waitFor();
    expect(await due.getByRole('button', { name: /Edit the message|Make the answer again/ }).count()).toBe(0);
    await page.getByRole('button', { name: /^Activity/ }).click();
    const feed = page.getByRole('complementary', { name: 'Activity' });
    await feed.getByText('Schedule ran').waitFor();
    await feed.getByText('Answer').waitFor();
    await expect.poll(() => feed.textContent()).toContain('stretch');
    await checkLooks(opened);
  });
});
