import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describeWithBrowser, type TestPage } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { DESKTOP, flawsOf, PHONE, type Stage, startStage } from '../fixtures/stage.ts';

const MOST_SCRIPT = 200_000;
const SEARCH = { toolCalls: [{ name: 'searchWeb', arguments: { query: 'tidal power' } }] };
const ANSWER = 'Tidal power uses the sea [1]. Stations were built early [2].';

describeWithBrowser('the research page', () => {
  let stage: Stage;
  let opened: TestPage | undefined;
  beforeAll(async () => {
    stage = await startStage();
  });
  afterEach(async () => {
    stage.reset();
    stage.model.release();
    await opened?.close();
  });
  afterAll(() => stage.stop());

  const open = async (...parameters: Parameters<Stage['open']>) => {
    opened = await stage.open(...parameters);
    return opened;
  };

  it.each([
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ])('shows every section without flaws on %s, light and dark', async (_name, options) => {
    const { page, problems } = await open('', options);
    for (const [section, heading] of [
      ['Ask', 'What do you want to know?'],
      ['Library', 'Library'],
      ['Files', 'Your files'],
      ['Sources', 'Sources'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: section }).click();
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate(flawsOf), `${section} ${colorScheme}`).toEqual([]);
      }
    }
    expect(problems).toEqual([]);
  });

  it('answers with numbered sources as it comes, and keeps the conversation', async () => {
    const { page, problems } = await open();
    stage.model.enqueue(SEARCH, { fault: 'stall', text: 'Tidal power uses', answer: ' the sea [1].' });
    await page.getByRole('textbox', { name: 'Your question' }).waitFor();
    await page.keyboard.press('/');
    await page.locator('textarea:focus').waitFor();
    await page.keyboard.type('What is tidal power?');
    await page.keyboard.press('Enter');
    await page.getByText('Tidal power uses').waitFor();
    const sources = page.getByRole('region', { name: 'Sources' });
    await sources.getByRole('link').nth(2).waitFor();
    stage.model.release();
    await page.getByRole('link', { name: /^Source 1: / }).hover();
    await page.getByRole('tooltip').getByRole('blockquote').waitFor();
    await expect.poll(() => sources.getByRole('link').count()).toBe(1);

    await page.reload();
    await page.getByRole('heading', { name: 'What is tidal power?' }).waitFor();
    await page.getByRole('link', { name: /^Source 1: / }).focus();
    await page.getByRole('tooltip').getByRole('blockquote').waitFor();
    stage.model.enqueue('They are rare.');
    await page.getByRole('textbox', { name: 'A further question' }).fill('How many are there?');
    await page.keyboard.press('Enter');
    await page.getByText('They are rare.').waitFor();
    expect(
      stage.model
        .chats()
        .at(-1)
        ?.messages.map(({ role }) => role),
    ).toEqual(['system', 'user', 'assistant', 'user']);
    expect(problems).toEqual([]);
  });

  it('says what could not be searched, also when the page is loaded again', async () => {
    const { page } = await open();
    stage.search.faults.searxng = { status: 500 };
    stage.search.faults.mediawiki = { status: 500 };
    stage.model.enqueue(SEARCH, 'I do not know.');
    await page.getByRole('textbox', { name: 'Your question' }).fill('What is tidal power?');
    await page.keyboard.press('Enter');
    await page.getByText(/SearXNG .* status 500/).waitFor();
    await page.reload();
    await page.getByText(/SearXNG .* status 500/).waitFor();
    await page.getByText('Not searched').first().waitFor();
  });

  it('asks after a reload what was asked while the service was away', async () => {
    const { page } = await open();
    await page.getByRole('textbox', { name: 'Your question' }).fill('What is tidal power?');
    await page.route('**/assets/ChatPage-*.js', (route) => route.abort());
    await page.keyboard.press('Enter');
    await page.getByText('A part of this page could not be loaded.').waitFor();
    stage.model.enqueue('It uses the sea.');
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByText('It uses the sea.').waitFor();
  });

  it('keeps its frame when a part cannot be loaded, and loads it when the service is back', async () => {
    const { page } = await open();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    await stage.stopService();
    const sections = page.getByRole('navigation', { name: 'Sections' });
    await sections.getByRole('link', { name: 'Files' }).click();
    await page.getByText('A part of this page could not be loaded.').waitFor();
    await sections.getByRole('link', { name: 'Ask' }).click();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    await sections.getByRole('link', { name: 'Files' }).click();
    await page.getByText('A part of this page could not be loaded.').waitFor();
    await page.waitForEvent('requestfailed', (request) => request.url().endsWith('/healthz'));
    await stage.startService();
    await page.getByRole('heading', { name: 'Your files' }).waitFor();
  });

  it('takes the answer to a question of its own', async () => {
    const { page } = await open('', PHONE);
    stage.model.enqueue({
      toolCalls: [{ name: 'askClarification', arguments: { question: 'Which Paris?' } }],
    });
    await page.getByRole('textbox', { name: 'Your question' }).fill('Weather in Paris');
    await page.getByRole('button', { name: 'Search' }).tap();
    await page.getByText('Which Paris?').waitFor();
    stage.model.enqueue('Fine in Texas.');
    await page.getByRole('textbox', { name: 'A further question' }).fill('Texas');
    await page.getByRole('button', { name: 'Send' }).tap();
    await page.getByText('Fine in Texas.').waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
  });

  it('stops an answer, says why one failed, and asks again', async () => {
    const { page } = await open();
    stage.model.enqueue({ fault: 'stall', text: 'So far' });
    await page.getByRole('textbox', { name: 'Your question' }).fill('What are tides?');
    await page.keyboard.press('Enter');
    await page.getByText('So far').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('You stopped the answer.').waitFor();
    stage.model.enqueue({ fault: 'status', status: 401 });
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page
      .getByRole('alert')
      .getByText(/LLM_API_KEY/)
      .waitFor();
    await page.route('**/api/chat', (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByRole('alert').getByText('Not sent').waitFor();
    stage.model.enqueue('Now whole.');
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Now whole.').waitFor();
    expect(await page.getByText('Not sent').count()).toBe(0);
  });

  it('offers to ask again when it was left before the answer', async () => {
    const { page } = await open();
    stage.model.enqueue({ fault: 'stall' });
    await page.getByRole('textbox', { name: 'Your question' }).fill('What are neap tides?');
    await page.keyboard.press('Enter');
    await page.getByText('Thinking').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'What are neap tides?' }).waitFor();
    await page.getByText('The answer was cut off.').waitFor();
    stage.model.enqueue('Small ones.');
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('Small ones.').waitFor();
  });

  it('finds past work by its words, and runs it again from there', async () => {
    const id = await stage.client.startJob({ query: 'tidal power of the Severn' });
    await stage.client.events(id);
    const { page } = await open('#/library');
    await page.getByRole('searchbox', { name: 'Search the library' }).fill('severn');
    const lines = page.getByRole('main').getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(1);
    await lines.getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((url) => url.hash.startsWith('#/research/') && !url.hash.includes(id));
    await page.goBack();
    await page.getByRole('searchbox', { name: 'Search the library' }).fill('no such words');
    await page.getByText('Nothing has “no such words”').waitFor();
  });

  it('deletes a chat and a report once confirmed, and says why a report cannot be deleted', async () => {
    await stage.client.chat({
      id: 'neap',
      messages: [{ role: 'user', content: 'Why are there two tides a day?' }],
    });
    const id = await stage.client.startJob({ query: 'lagoons of Swansea', plan: 'review' });
    await stage.client.events(id, undefined, ({ type }) => type === 'scope_proposed');
    const cancel = async () => {
      await fetch(`${stage.url}/api/research/deep/${id}`, { method: 'DELETE' });
      await stage.client.events(id);
    };
    await cancel();

    const { page } = await open('#/chat/neap', PHONE);
    const main = page.getByRole('main');
    await main.getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    const question = page.getByRole('alertdialog', {
      name: 'Delete the chat “Why are there two tides a day?”?',
    });
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    await page.locator('button:focus').getByText('Delete').waitFor();
    await page.keyboard.press('Enter');
    await question.getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Chat deleted.', { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/library');
    const line = main.getByRole('listitem').filter({ hasText: 'lagoons of Swansea' });
    await line.waitFor();
    expect(await main.getByText('Why are there two tides a day?').count()).toBe(0);
    expect(await page.evaluate(flawsOf)).toEqual([]);

    await line.getByRole('button', { name: 'Delete' }).tap();
    const confirm = page.getByRole('alertdialog').getByRole('button', { name: 'Delete' });
    await confirm.waitFor();
    await stage.client.post(`/api/research/deep/${id}/resume`, {});
    await confirm.tap();
    await page
      .getByText(/still under way. Stop it/)
      .first()
      .waitFor();

    await cancel();
    await line.getByRole('link').tap();
    await main.getByRole('button', { name: 'Delete' }).tap();
    await confirm.tap();
    await page.getByText('Research deleted.', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    await line.waitFor({ state: 'detached' });
    expect(await stage.client.status(id)).toMatchObject({ error: 'Research not found' });
  });

  it('takes files, and gives them up', async () => {
    const { page } = await open('#/files');
    const notes = { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes\n\nTides.') };
    await page.getByLabel('Files to upload').setInputFiles(notes);
    await page.getByText('1 file added.', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Notes', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'Notes' });
    await shown.getByText('Tides.').waitFor();
    await page.keyboard.press('Escape');
    await shown.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Remove notes.md' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No files yet').waitFor();
    const film = { name: 'cat.mp4', mimeType: 'video/mp4', buffer: Buffer.from('x') };
    await page.getByLabel('Files to upload').setInputFiles([notes, film]);
    await page
      .getByText(/no file that can be read here/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Remove notes.md' }).waitFor();
  });

  it('shows the health of the sources', async () => {
    stage.search.faults.searxng = { status: 403 };
    const id = await stage.client.startJob({ query: 'tidal power' });
    await stage.client.events(id);
    const { page } = await open();
    await page.getByText('SearXNG fails').click();
    await page.getByText(/add json to search.formats/).waitFor();
    await page.getByText('gpt-5-mini').waitFor();
  });

  it('can be driven from the palette and by keyboard', async () => {
    const { page } = await open();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('[role=combobox]:focus').waitFor();
    await page.keyboard.type('library');
    await page.locator('[role=option][data-selected=true]').getByText('Open Library').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
  });

  it(`begins with less than ${MOST_SCRIPT / 1000} kB of script`, async () => {
    const { page } = await open();
    await page.getByRole('heading', { name: 'What do you want to know?' }).waitFor();
    const names = await page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => new URL(name).pathname)
        .filter((path) => path.endsWith('.js')),
    );
    const dist = join(import.meta.dirname, '../dist');
    const sizes = [...new Set(names)].map((path) => gzipSync(readFileSync(join(dist, path))).length);
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_SCRIPT);
  });
});

describeWithBrowser('the research page of a service with a token', () => {
  let stage: Stage;
  let opened: TestPage;
  beforeAll(async () => {
    stage = await startStage({ RESEARCH_AUTH_TOKEN: 'sesame' });
  });
  afterEach(() => opened.close());
  afterAll(() => stage.stop());

  it('asks for the key, and keeps it', async () => {
    opened = await stage.open('#/library');
    const { page } = opened;
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await dialog.getByText('did not accept the last key').first().waitFor();
    await dialog.getByLabel('Key').fill('sesame');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing here yet').waitFor();
    await page.reload();
    await page.getByText('Nothing here yet').waitFor();
    expect(await dialog.count()).toBe(0);
    stage.model.enqueue(SEARCH, ANSWER);
    await page.getByRole('link', { name: 'Ask' }).first().click();
    await page.getByRole('textbox', { name: 'Your question' }).fill('What is tidal power?');
    await page.keyboard.press('Enter');
    await page.getByText('Stations were built early').waitFor();
  });
});

describeWithBrowser('the research page of a service with no model', () => {
  let stage: Stage;
  let opened: TestPage;
  beforeAll(async () => {
    stage = await startStage({ LLM_GATEWAY_URL: '', LLM_API_KEY: '', LLM_MODEL: '' });
  });
  afterEach(() => opened.close());
  afterAll(() => stage.stop());

  it('says that a demo model answers, and where to set up another', async () => {
    opened = await stage.open('', PHONE);
    const { page } = opened;
    await page.getByText(/A small demo model answers/).waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    await page.getByRole('link', { name: 'Set up a real model' }).click();
    await page.getByRole('heading', { name: 'Choose a model' }).waitFor();
  });
});
