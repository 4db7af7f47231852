import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { checkLooks, describeWithBrowser, type ModelServer, startModelServer } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages, type Page, type Route } from './pages.suite.ts';

const config = `
knowledge: { embeddings: "off" }
model: { prices: { test-model: { input: 1000, output: 2000 } } }
`;

describeWithBrowser('the chat page', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer({ models: ['test-model', 'other-model'] });
    return { env: modelEnvironment(model.url), config };
  });
  afterAll(() => model.stop());

  const message = (page: Page) => page.getByRole('textbox', { name: 'Message' });
  const say = async (page: Page, text: string) => {
    await message(page).fill(text);
    await page.keyboard.press('Enter');
  };
  const lastTurn = (page: Page) => page.getByRole('article', { name: 'Turn' }).last();
  const chats = (page: Page) => page.getByRole('navigation', { name: 'Chats' });

  it('shows an answer in markdown, its tools in a timeline that opens, and what it cost', async () => {
    model.enqueue(
      {
        text: 'I will work it out.',
        toolCalls: [{ name: 'calculator', arguments: { expression: '6*7' } }],
        usage: { input: 1000, output: 100 },
      },
      {
        text: '## The answer\n\nIt is **42**.\n\n| a | b |\n|---|---|\n| 6 | 7 |\n\n```js\nconst answer = 42;\n```',
        usage: { input: 500, output: 100 },
      },
    );
    const opened = await pages.open('/');
    const { page } = opened;
    await say(page, 'What is 6*7?');
    const turn = lastTurn(page);
    await turn.getByRole('heading', { name: 'The answer' }).waitFor();
    await turn.getByRole('table').waitFor();
    await turn.getByText('1,500 tokens in, 200 out · $1.90').waitFor();
    await turn.getByText('Used 1 tool').click();
    await turn.getByText('6*7 = 42').waitFor();
    await checkLooks(opened);
  });

  it('edits a message and makes an answer again, each in a branch, and finds what was said in any of them', async () => {
    model.enqueue('Red it is.');
    const { page } = await pages.open('/');
    await say(page, 'Paint the shed');
    await lastTurn(page).getByText('Red it is.').waitFor();
    await lastTurn(page).getByRole('button', { name: 'Make the answer again' }).waitFor();
    model.enqueue('Blue it is.');
    await message(page).focus();
    await page.keyboard.press('ArrowUp');
    await page.getByRole('textbox', { name: 'Your message' }).fill('Paint the boat');
    await page.keyboard.press('Enter');
    await lastTurn(page).getByText('Blue it is.').waitFor();
    await lastTurn(page).getByText('2 of 2').waitFor();
    model.enqueue('Green it is.');
    await lastTurn(page).getByRole('button', { name: 'Make the answer again' }).click();
    await lastTurn(page).getByText('Green it is.').waitFor();
    await lastTurn(page).getByText('3 of 3').waitFor();
    await message(page).focus();
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowLeft');
    await lastTurn(page).getByText('Blue it is.').waitFor();
    await page.reload();
    await lastTurn(page).getByText('2 of 3').waitFor();
    expect(await page.getByRole('article', { name: 'Turn' }).count()).toBe(1);
    await page.getByLabel('Find a chat').fill('red IT');
    const places = page.getByRole('region', { name: 'In messages' });
    await places.getByRole('link', { name: 'Paint the shed' }).click();
    await lastTurn(page).getByText('Red it is.').waitFor();
    await page.keyboard.press('Escape');
    await lastTurn(page).getByText('1 of 3').waitFor();
  });

  it('keeps a message that was not sent, and Retry says it once, also where it had arrived', async () => {
    model.enqueue('I am here.');
    const { page } = await pages.open('/');
    const lose = async (route: Route) => {
      await route.fetch();
      await route.abort();
    };
    await page.route('**/messages', (route) => route.abort(), { times: 1 });
    await say(page, 'Are you there?');
    const alert = page.getByRole('alert');
    await alert.getByText('Not sent').waitFor();
    await page.getByTestId('conversation').getByText('Are you there?').waitFor();
    await page.route('**/messages', lose, { times: 1 });
    await alert.getByRole('button', { name: 'Retry' }).click();
    await lastTurn(page).getByText('I am here.').waitFor();
    await alert.getByRole('button', { name: 'Retry' }).click();
    await alert.waitFor({ state: 'detached' });
    await page.getByTestId('conversation').getByText('Are you there?').waitFor();
    const asked = model
      .chats()
      .filter((chat) => JSON.stringify(chat.messages.at(-1)).includes('Are you there?'));
    expect(asked).toHaveLength(1);
  });

  it('shows at once that another service died, and that it is back', async () => {
    const { page } = await pages.open('/');
    const folder = join(pages.agent().home, 'running');
    const neighbour = async (port = 0) => {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    };
    const first = await neighbour();
    const { port } = first.address() as AddressInfo;
    mkdirSync(folder, { recursive: true });
    const record = { pid: process.ppid, urls: [`http://127.0.0.1:${port}`], names: ['research'] };
    writeFileSync(join(folder, 'other.json'), JSON.stringify(record));
    const lamp = page.getByRole('navigation', { name: 'Services' }).getByText('Research');
    const says = (word: string) =>
      page.getByRole('navigation', { name: 'Services' }).getByText(word, { exact: true }).first().waitFor();
    await lamp.waitFor();
    await page.getByRole('link', { name: 'Live Research' }).waitFor();
    first.close();
    await says('Not running');
    const second = await neighbour(port);
    await page.getByRole('link', { name: 'Live Research' }).waitFor();
    second.close();
  });

  it('goes on with a turn after the page was loaded anew in its middle', async () => {
    model.enqueue({ fault: 'stall', text: 'The first half', answer: ' and the second half.' });
    const { page } = await pages.open('/');
    await say(page, 'Tell me all of it');
    await lastTurn(page).getByText('The first half').waitFor();
    await page.reload();
    await lastTurn(page).getByText('The first half').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    model.release();
    await lastTurn(page).getByText('The first half and the second half.').waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
  });

  it('stops a turn', async () => {
    model.enqueue({ fault: 'stall', text: 'On and on' });
    const { page } = await pages.open('/');
    await say(page, 'Never end');
    await lastTurn(page).getByText('On and on').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await lastTurn(page).getByText('Stopped').waitFor();
    model.release();
    model.enqueue('Here again.');
    await say(page, 'Are you there?');
    await lastTurn(page).getByText('Here again.').waitFor();
  });

  it('has a question answered in its place, by keyboard', async () => {
    model.enqueue({ toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] });
    const { page } = await pages.open('/');
    await say(page, 'Paint it');
    const question = page.getByRole('region', { name: 'Which colour?' });
    await question.getByLabel('Your answer').focus();
    model.enqueue('It is blue now.');
    await page.keyboard.type('blue');
    await page.keyboard.press('Enter');
    await lastTurn(page).getByText('It is blue now.').waitFor();
    expect(await question.count()).toBe(0);
    const sent = JSON.stringify(model.chats().at(-1)?.messages);
    expect(sent).toContain('blue');
  });

  it('makes a form from its schema, step by step, and names mistakes at the field', async () => {
    const steps = [
      {
        title: 'You',
        schema: {
          type: 'object',
          required: ['name', 'age'],
          properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 18 } },
        },
      },
      {
        title: 'Journey',
        schema: {
          type: 'object',
          required: ['class'],
          properties: {
            class: { enum: ['first', 'second'] },
            meals: { type: 'array', items: { enum: ['lunch', 'dinner'] } },
            window: { type: 'boolean', title: 'Window seat' },
          },
        },
      },
    ];
    model.enqueue({
      toolCalls: [{ name: 'request_user_input', arguments: { title: 'Book a train', steps } }],
    });
    const opened = await pages.open('/');
    const { page } = opened;
    await say(page, 'Book it');
    const form = page.getByRole('region', { name: 'Book a train' });
    await form.getByLabel('Name').fill('Ada');
    await form.getByLabel('Age').fill('17');
    await form.getByRole('button', { name: 'Next' }).click();
    await form.getByText('At least 18.').waitFor();
    expect(await form.getByLabel('Age').evaluate((field) => field === document.activeElement)).toBe(true);
    await checkLooks(opened);
    await form.getByLabel('Age').fill('36');
    await form.getByRole('button', { name: 'Next' }).click();
    await form.getByText('Step 2 of 2: Journey').waitFor();
    await form.getByLabel('Class').selectOption('first');
    await form.getByLabel('lunch').click();
    await form.getByLabel('Window seat').click();
    model.enqueue('Booked.');
    await form.getByRole('button', { name: 'Send the answer' }).click();
    await lastTurn(page).getByText('Booked.').waitFor();
    const answer = JSON.stringify({ name: 'Ada', age: 36, window: true, class: 'first', meals: ['lunch'] });
    const result = model
      .chats()
      .at(-1)
      ?.messages.findLast(({ role }) => role === 'tool')?.content;
    expect(JSON.parse(String(result))).toEqual(JSON.parse(answer));
  });

  it('keeps several chats, finds them again, and forgets one', async () => {
    const { page } = await pages.open('/');
    model.enqueue('About lions.', 'About tigers.');
    await say(page, 'Lions please');
    await lastTurn(page).getByText('About lions.').waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
    await page.getByRole('heading', { name: 'What shall I do for you?' }).waitFor();
    await say(page, 'Tigers please');
    await lastTurn(page).getByText('About tigers.').waitFor();
    await page.getByLabel('Find a chat').fill('lions');
    await expect.poll(() => chats(page).getByRole('link').count()).toBe(1);
    await chats(page)
      .getByRole('link', { name: /Lions please/ })
      .click();
    await lastTurn(page).getByText('About lions.').waitFor();
    await page.reload();
    await lastTurn(page).getByText('About lions.').waitFor();
    await page.getByRole('button', { name: 'More for Lions please' }).click();
    await page.getByRole('menuitem', { name: 'Forget this chat' }).click();
    await page.getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByText('Chat forgotten.').first().waitFor();
    await expect.poll(() => chats(page).getByText('Lions please').count()).toBe(0);
    await chats(page).getByText('Tigers please').waitFor();
  });

  it('gives the text of a file along, and refuses what cannot be used', async () => {
    const { page } = await pages.open('/');
    const input = page.getByLabel('Files to attach');
    await input.setInputFiles({
      name: 'photo.png',
      mimeType: 'image/png',
      buffer: Buffer.from([0x89, 0, 1, 2]),
    });
    await page.getByText('photo.png says that it is image/png, but holds something else').first().waitFor();
    await input.setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from('pears,3') });
    await page.getByRole('list', { name: 'Files to send' }).getByText('list.csv').waitFor();
    model.enqueue('Three pears.');
    await say(page, 'How many pears?');
    await lastTurn(page).getByText('Three pears.').waitFor();
    await lastTurn(page).getByText('list.csv').waitFor();
    expect(JSON.stringify(model.chats().at(-1)?.messages.at(-1))).toContain('pears,3');
  });

  it('says at once that a message is too long', async () => {
    const { page } = await pages.open('/');
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('word '.repeat(50_000));
    await page.getByText('A message takes 200,000 characters. Shorten it, or attach files.').waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await field.fill('word');
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  });

  it('says why a turn failed, makes it again, and goes on with the next', async () => {
    model.enqueue({ fault: 'status', status: 401 });
    const { page } = await pages.open('/');
    await say(page, 'Anything');
    const alert = lastTurn(page).getByRole('alert');
    await alert.getByText(/LLM_API_KEY/).waitFor();
    model.enqueue('Made again.');
    await alert.getByRole('button', { name: 'Retry' }).click();
    await lastTurn(page).getByText('Made again.').waitFor();
    await lastTurn(page).getByText('2 of 2').waitFor();
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
    const picker = page.getByLabel('Model of this chat');
    await picker.selectOption('other-model');
    model.enqueue('Better.');
    await say(page, 'Again');
    await lastTurn(page).getByText('Better.').waitFor();
    expect(model.chats().at(-1)?.model).toBe('other-model');
    await page.reload();
    await expect.poll(() => picker.inputValue()).toBe('other-model');
  });

  it('is used without a mouse: write, send, a new chat, the shortcuts', async () => {
    const { page } = await pages.open('/');
    await expect.poll(() => message(page).evaluate((field) => field === document.activeElement)).toBe(true);
    model.enqueue('Typed.');
    await page.keyboard.type('By keys');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('in two lines');
    await page.keyboard.press('Enter');
    await lastTurn(page).getByText('Typed.').waitFor();
    await page.getByRole('button', { name: 'New chat' }).focus();
    await page.keyboard.press('n');
    await page.getByRole('heading', { name: 'What shall I do for you?' }).waitFor();
    await page.getByRole('button', { name: 'New chat' }).focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Write a message').waitFor();
  });
});
