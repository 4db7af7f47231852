import { describeWithBrowser, phoneWindow } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { agentPages } from './pages.suite.ts';

describeWithBrowser('the chat on a phone', () => {
  const pages = agentPages(async () => ({ config: 'knowledge: { embeddings: "off" }' }));

  it('begins with its greeting, however much is offered below', async () => {
    const { page } = await pages.open('/', { viewport: { ...phoneWindow, height: 640 }, hasTouch: true });
    await page.getByRole('button', { name: 'What time is it in Tokyo?' }).waitFor();
    const part = page.getByTestId('conversation');
    expect(await part.evaluate((element) => element.scrollHeight > element.clientHeight)).toBe(true);
    expect(await part.evaluate((element) => element.scrollTop)).toBe(0);
  });

  it('says in plain words that a message was not sent, and leaves the way to send it free', async () => {
    const { page } = await pages.open('/', { viewport: phoneWindow, hasTouch: true });
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('What is 6*7?');
    await page.route('**/api/chat**', (route) => route.abort());
    const send = page.getByRole('button', { name: 'Send' });
    await send.tap();
    const unsent = page.getByRole('alert').filter({ hasText: 'Not sent' });
    await unsent.waitFor();
    expect(await unsent.textContent()).not.toMatch(/\/api|http/);
    await send.waitFor();
    const [told, button] = [await unsent.boundingBox(), await send.boundingBox()];
    expect(told!.y + told!.height).toBeLessThan(button!.y);
    await page.unroute('**/api/chat**');
    await unsent.getByRole('button', { name: 'Retry' }).tap();
    await page.getByRole('article', { name: 'Turn' }).getByText('6*7 = 42.', { exact: true }).waitFor();
  });
});
