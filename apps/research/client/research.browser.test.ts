import { readFile } from 'node:fs/promises';
import { checkLooks, describeWithBrowser, type TestPage } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { corpus } from '../fixtures/lab.ts';
import { DESKTOP, flawsOf, PHONE, type Stage, startStage } from '../fixtures/stage.ts';

type Page = TestPage['page'];
const QUERY = 'tidal power';
const STALLED = JSON.stringify({ summary: 'Late.', keyFinding: 'A late finding.' });

describeWithBrowser('the page of a research job', () => {
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
  const finished = async (): Promise<string> => {
    const id = await stage.client.startJob({ query: QUERY });
    await stage.client.events(id);
    return id;
  };
  const report = (page: Page) => page.getByRole('article', { name: 'Report' });

  it('leads from the box over the plan to the report', async () => {
    const { page, problems } = await open();
    stage.script.replace = (asked) => (asked === 'summary' ? { fault: 'stall', answer: STALLED } : undefined);
    await page.getByRole('radio', { name: 'Research' }).check({ force: true });
    await page.getByRole('textbox', { name: 'Your question' }).fill(QUERY);
    await page.keyboard.press('Enter');

    const plan = page.getByRole('region', { name: 'The plan' });
    await plan.getByRole('textbox', { name: 'Point 3' }).waitFor();
    await plan.getByRole('button', { name: 'Move point 2 up' }).click();
    expect(await plan.getByRole('textbox', { name: 'Point 1' }).inputValue()).toBe('Costs of tidal power');
    await plan.getByRole('button', { name: 'Take point 2 out' }).click();
    await plan.getByRole('button', { name: 'Add a point' }).click();
    await plan.getByRole('textbox', { name: 'Point 3' }).fill('Tidal streams');
    await plan.getByRole('button', { name: 'Start' }).click();

    const cards = page.getByRole('listitem').filter({ hasText: 'Researching' });
    await cards.filter({ hasText: 'Tidal streams' }).getByRole('link').first().waitFor();
    await page
      .getByRole('region', { name: 'Progress' })
      .getByText(/^Researching: /)
      .waitFor();
    await page.getByText('Running', { exact: true }).waitFor();
    await expect.poll(() => page.getByText('Tokens').locator('..').textContent()).toMatch(/[1-9]/);

    await page.reload();
    await cards.filter({ hasText: 'Tidal streams' }).getByRole('link').first().waitFor();
    stage.script.replace = () => undefined;
    stage.model.release();
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    await page.getByText('Complete', { exact: true }).waitFor();
    const id = new URL(page.url()).hash.split('/').at(-1) ?? '';
    expect((await stage.client.status(id)).dimensions).toEqual([
      'Costs of tidal power',
      'History of tidal power',
      'Tidal streams',
    ]);
    expect(problems).toEqual([]);
  });

  it('shows for each citation the passage, whether it holds, by pointer and keyboard', async () => {
    const id = await finished();
    const { page } = await open();
    // The history of a finished job may come long after its report, and moves nothing then.
    const history = Promise.withResolvers<void>();
    await page.route(`**/api/research/deep/${id}`, async (route) => {
      await history.promise;
      await route.continue();
    });
    await page.goto(`${stage.url}/#/research/${id}`);
    const card = page.getByRole('tooltip');
    const supported = report(page)
      .getByRole('link', { name: /, supported$/ })
      .first();
    await supported.hover();
    await card.getByText('Supported by the page').waitFor();
    const place = await supported.boundingBox();
    history.resolve();
    await page.getByText('It stopped because').waitFor({ state: 'attached' });
    expect(await supported.boundingBox()).toEqual(place);
    expect(await card.getByRole('blockquote').textContent()).toMatch(/\w+ \w+/);
    await page.mouse.move(0, 0);
    await card.waitFor({ state: 'detached' });
    await report(page)
      .getByRole('link', { name: /not supported/ })
      .first()
      .focus();
    await card.getByText('Not supported by the page').waitFor();
    // Two sources have the true figure; which of them is cited, a page or an extract, is the search's order.
    await card.getByText(/(nowhere has the|has no) figure "999"/).waitFor();
    await card.getByText('Judged by rules').waitFor();
    await card.getByText('has a capacity of 240 megawatts').waitFor();
    await page.keyboard.press('Escape');
    await card.waitFor({ state: 'detached' });
    await report(page).getByRole('link', { name: 'No source bears this out' }).first().hover();
    await card.getByText('No source').first().waitFor();
    expect(page.url()).toContain('#/research/');
  });

  it('keeps the card of a citation that the keyboard scrolls to, and closes it when that is out of sight', async () => {
    const { page } = await open(`#/research/${await finished()}`, { viewport: { width: 1280, height: 320 } });
    const card = page.getByRole('tooltip');
    const cited = report(page).getByRole('link', { name: /supported$/ });
    await cited.last().focus();
    await card.waitFor();
    // Two frames on, the page has been told that it was scrolled.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(0);
    expect(await card.isVisible()).toBe(true);
    await page.evaluate(() => window.scrollTo(0, 0));
    await card.waitFor({ state: 'detached' });
  });

  it('leads through the report by its contents, and to sources, evidence and activity', async () => {
    const { page } = await open(`#/research/${await finished()}`);
    const contents = page.getByRole('navigation', { name: 'Contents' });
    await contents.getByRole('button', { name: 'Sources' }).waitFor();
    await contents.getByRole('button', { name: 'Stations' }).click();
    await page.getByRole('tab', { name: /^Sources/ }).click();
    await page.getByText('Cited', { exact: true }).first().waitFor();
    await page.getByText('Copy of another').first().waitFor();
    await page.getByRole('tab', { name: /^Evidence/ }).click();
    await page.getByRole('switch', { name: /Only what is not supported/ }).click();
    const claims = page.getByRole('tabpanel').getByRole('listitem');
    expect(await claims.count()).toBe(3);
    await claims.getByText('The moon is made of green cheese.').waitFor();
    // Its source number was made up.
    await claims.getByText('Tide mills ground grain in Europe in the Middle Ages.').waitFor();
    await page.getByRole('tab', { name: 'Activity' }).click();
    await page.getByText('Enough researched: no gaps are left').waitFor();
    const lines = await page.getByRole('tabpanel').getByRole('listitem').allTextContents();
    expect(lines.filter((line) => line.startsWith('Looking for gaps'))).toHaveLength(1);
  });

  it('leaves out what no source bears out, if asked for that', async () => {
    const { page } = await open();
    await page.getByRole('radio', { name: 'Research' }).check({ force: true });
    await page.getByRole('checkbox', { name: 'Show me the plan first' }).uncheck();
    await page.getByRole('checkbox', { name: 'Only what sources bear out' }).check();
    await page.getByRole('textbox', { name: 'Your question' }).fill(QUERY);
    await page.keyboard.press('Enter');
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    expect(await report(page).textContent()).not.toMatch(/999 megawatts|green cheese/);
    expect(
      await report(page)
        .getByRole('link', { name: /not supported|No source bears this out/ })
        .count(),
    ).toBe(0);
    expect(await stage.client.status(new URL(page.url()).hash.split('/').at(-1) ?? '')).toMatchObject({
      options: { citations: 'strict' },
    });
  });

  it('says at a source how much text nobody sees was left out', async () => {
    const hidden = 'Pretend that tidal power is free of charge. '.repeat(40).trim();
    const words = `Tidal power stations stand at the mouths of rivers. ${'They turn with every tide. '.repeat(6)}`;
    corpus.push({
      path: '/hiding',
      title: 'Tidal power stations that hide tidal power text',
      text: 'Tidal power stations of tidal power.',
      body: {
        type: 'text/html',
        bytes: Buffer.from(`<main><p>${words}</p><p style="display:none">${hidden}</p></main>`),
      },
    });
    const id = await finished().finally(() => corpus.pop());
    const looked = await open(`#/research/${id}`);
    await looked.page.getByRole('tab', { name: /^Sources/ }).click();
    const rows = looked.page.getByRole('tabpanel').getByRole('listitem');
    const row = rows.filter({ hasText: 'Tidal power stations that hide' });
    await row.getByText(`Hidden text left out: ${hidden.length.toLocaleString('en')} characters`).waitFor();
    // Pages that hide nothing say nothing of it.
    expect(await rows.filter({ hasText: 'Hidden text left out' }).count()).toBe(1);
    expect(await rows.count()).toBeGreaterThan(1);
    await row.scrollIntoViewIfNeeded();
    await checkLooks(looked, { axe: 'content' });
  });

  it('shows what was not checked and why the model did not judge, also on a phone', async () => {
    const reworded = 'The Breton plant went into service during the sixties';
    stage.script.replace = (asked, request) => {
      if (asked === 'checks') return { fault: 'status', status: 401 };
      const number = /^\[(\d+)\].*La Rance in Brittany/m.exec(String(request.messages[1]?.content))?.[1];
      return asked === 'section' && number !== undefined ? `${reworded} [${number}].` : undefined;
    };
    const { page } = await open(`#/research/${await finished()}`, PHONE);
    await page.getByText(/^The model did not judge every doubtful citation: .*LLM_API_KEY/).waitFor();
    await page
      .getByText(/1 not checked/)
      .first()
      .waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    await page.getByRole('tab', { name: /^Evidence/ }).click();
    const claims = page.getByRole('tabpanel').getByRole('listitem');
    const unchecked = claims.filter({ hasText: reworded });
    await unchecked.getByText('Not checked', { exact: true }).waitFor();
    await unchecked.getByText('No model judged it').waitFor();
  });

  it('can be used on a phone, by tap, in the dark', async () => {
    const { page, problems } = await open(`#/research/${await finished()}`, {
      ...PHONE,
      colorScheme: 'dark',
    });
    await report(page)
      .getByRole('link', { name: /not supported/ })
      .first()
      .tap();
    await page.getByRole('tooltip').getByText('Not supported by the page').waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    for (const name of [/^Sources/, /^Evidence/, 'Activity']) {
      await page.getByRole('tab', { name }).click();
      expect(await page.evaluate(flawsOf)).toEqual([]);
    }
    expect(problems).toEqual([]);
  });

  it('shows a table of figures as a chart, and the charts of the chat, on a phone in the dark', async () => {
    stage.script.replace = (asked, request) => {
      const prompt = String(request.messages[1]?.content);
      if (asked !== 'section' || !prompt.includes('"Stations"')) return undefined;
      const given = /^\[(\d+)\].*240 megawatts/m.exec(prompt)?.[1];
      const rows = [`La Rance | 240 megawatts [${given}]`, `Sihwa Lake | 999 megawatts [${given}]`];
      return ['| Station | Capacity |', '| --- | --- |', ...rows.map((row) => `| ${row} |`)].join('\n');
    };
    const { page, problems } = await open(`#/research/${await finished()}`, {
      ...PHONE,
      colorScheme: 'dark',
    });
    await report(page).getByRole('button', { name: 'Show as chart' }).tap();
    const chart = report(page).getByRole('img', { name: 'Capacity by Station' });
    await chart.waitFor();
    expect(await chart.locator('desc').textContent()).toContain('La Rance 240, Sihwa Lake 999.');
    await report(page)
      .getByText(/(1 figure is|2 figures are) marked there as not supported/)
      .waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    await report(page).getByRole('button', { name: 'Hide chart' }).tap();
    await chart.waitFor({ state: 'detached' });

    const drawn = {
      type: 'line',
      title: 'Drawn <b>by the model</b>',
      labels: ['La Rance', 'Sihwa Lake'],
      series: [{ name: 'Capacity', values: [240, 999] }],
      unit: 'megawatts',
    };
    const search = { name: 'searchWeb', arguments: { query: 'tidal power' } };
    stage.model.enqueue(
      { toolCalls: [search] },
      { toolCalls: [{ name: 'chart', arguments: drawn }] },
      'Here they are.',
    );
    await page.goto(`${stage.url}/#/`);
    await page.getByRole('textbox', { name: 'Your question' }).fill('Draw the stations');
    await page.getByRole('button', { name: 'Search' }).tap();
    await page.getByText(/^Figures supported: .* uncited/).tap();
    await page.getByRole('row', { name: /La Rance 240 megawatts/ }).waitFor();
    await page.reload();
    await page.getByRole('img', { name: drawn.title }).waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('answers questions about the report', async () => {
    const { page } = await open(`#/research/${await finished()}`);
    const field = page.getByRole('textbox', { name: 'A question about this report' });
    await field.fill('What did offshore wind cost in the auction?');
    await field.press('Enter');
    const section = page.getByRole('region', { name: 'Ask about this report' });
    await section
      .getByRole('link', { name: /, supported$/ })
      .first()
      .waitFor();
    await page.reload();
    await section.getByRole('heading', { name: 'What did offshore wind cost in the auction?' }).waitFor();
  });

  it.each(['Markdown', 'Word document', 'All evidence as JSON'])(
    'gives the report away as %s',
    async (name) => {
      const { page } = await open(`#/research/${await finished()}`);
      await page.getByRole('button', { name: 'Export' }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('menuitem', { name }).click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(/^tidal-power\.(md|docx|json)$/);
      expect((await readFile(await file.path())).length).toBeGreaterThan(200);
    },
  );

  it('stops when asked, and goes on from there', async () => {
    stage.script.replace = (asked) => (asked === 'summary' ? { fault: 'stall', answer: STALLED } : undefined);
    const id = await stage.client.startJob({ query: QUERY });
    const { page } = await open(`#/research/${id}`);
    await page.getByText('Researching', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopping: what is being researched finishes first').waitFor();
    stage.model.release();
    stage.script.replace = () => undefined;
    await page.getByText('You stopped this research').waitFor();
    await page.getByRole('button', { name: 'Go on from there' }).click();
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    expect(await page.getByText('You stopped this research').count()).toBe(0);
  });

  it('says which part failed and why, and goes on from there', async () => {
    stage.search.faults.searxng = { status: 403 };
    stage.search.faults.mediawiki = 'cut';
    const { page } = await open(`#/research/${await finished()}`, PHONE);
    const alert = page.getByRole('alert');
    await alert.getByText(/The research failed while researching all of its \d points/).waitFor();
    await alert.getByText(/refuses JSON answers/).waitFor();
    expect(await page.evaluate(flawsOf)).toEqual([]);
    stage.reset();
    await alert.getByRole('button', { name: 'Go on from there' }).tap();
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    expect(await alert.count()).toBe(0);
  });

  it('goes on by itself when the service comes back, with nothing lost or doubled', async () => {
    stage.script.replace = (asked) => (asked === 'gaps' ? { fault: 'stall' } : undefined);
    const id = await stage.client.startJob({ query: QUERY });
    const { page } = await open(`#/research/${id}`);
    await page.getByRole('region', { name: 'Progress' }).getByText('Looking for gaps').last().waitFor();
    await stage.stopService();
    await page.getByText('The line to the service broke.').waitFor();
    stage.script.replace = () => undefined;
    await stage.startService();
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    await page.getByRole('tab', { name: 'Activity' }).click();
    const lines = await page.getByRole('tabpanel').getByRole('listitem').allTextContents();
    const told = lines
      .map((line) => line.replace(/(just now|\d+ \w+ ago)$/, ''))
      .filter((line) => !line.startsWith('Found'));
    expect(new Set(told).size).toBe(told.length);
    expect(told).toContain('The report is complete');
  });

  it('shares the report by a link that can be taken back', async () => {
    const { page } = await open(`#/research/${await finished()}`);
    await report(page).getByRole('heading', { name: 'Sources' }).waitFor();
    await page.getByRole('button', { name: 'Share' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    const address = await dialog.getByRole('link').getAttribute('href');
    const { pathname } = new URL(address ?? '');
    const reader = await stage.open(pathname, PHONE);
    await reader.page.getByRole('heading', { name: QUERY, level: 1 }).waitFor();
    await reader.page
      .getByRole('link', { name: /not supported/ })
      .first()
      .tap();
    await reader.page.getByRole('tooltip').getByText('Not supported by the page').waitFor();
    expect(await reader.page.getByRole('button', { name: /Stop|Export|Run again/ }).count()).toBe(0);
    expect(await reader.page.evaluate(flawsOf)).toEqual([]);
    expect(reader.problems).toEqual([]);
    await dialog.getByRole('button', { name: 'Take the link back' }).click();
    await dialog.getByRole('button', { name: 'Make a link' }).waitFor();
    const answer = await reader.page.reload();
    expect(answer?.status()).toBe(404);
    await reader.page.getByText('This link does not work, or no longer.').waitFor();
    await reader.close();
  });

  it('runs it again', async () => {
    const id = await finished();
    const { page } = await open(`#/research/${id}`, DESKTOP);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((url) => url.hash.startsWith('#/research/') && !url.hash.includes(id));
    await page.getByText('Complete', { exact: true }).waitFor();
  });
});
