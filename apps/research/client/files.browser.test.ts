import { describeWithBrowser, type TestPage } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { flawsOf, PHONE, type Stage, startStage } from '../fixtures/stage.ts';

const WORDS = 'Tidal power turns the rise and fall of the sea into electricity.';
// Long on both sides: the passage is out of sight at first, and the end is not shown at once.
const NOTES = [
  '# Tidal power',
  ...Array.from({ length: 1500 }, (_, index) => `The gulls of day ${index} were loud.`),
  WORDS,
  ...Array.from({ length: 1500 }, (_, index) => `The boats of day ${index} were late.`),
  'The very end.',
].join('\n\n');

describeWithBrowser('a file that a report cites', () => {
  let stage: Stage;
  let opened: TestPage;
  let job: string;
  let file: string;
  beforeAll(async () => {
    stage = await startStage();
    stage.script.replace = (asked, { messages }) => {
      const number = /^\[(\d+)\].*rise and fall/m.exec(String(messages[1]?.content))?.[1];
      return asked === 'section' && number !== undefined ? `${WORDS} [${number}]` : undefined;
    };
    const form = new FormData();
    form.append('file', new File([NOTES], 'notes.md'));
    const added = await fetch(`${stage.url}/api/files`, { method: 'POST', body: form });
    file = ((await added.json()) as { files: { url: string }[] }).files[0]!.url;
    job = await stage.client.startJob({ query: 'tidal power', sources: ['files'] });
    await stage.client.events(job);
  });
  afterEach(() => opened.close());
  afterAll(() => stage.stop());

  const openFirstCitation = async ({ page }: TestPage) => {
    await page.getByRole('article', { name: 'Report' }).getByRole('link').first().tap();
    return page.getByRole('tooltip');
  };

  it('opens at the passage, over the report', async () => {
    opened = await stage.open(`#/research/${job}`, PHONE);
    const { page, problems } = opened;
    const card = await openFirstCitation(opened);
    await card.getByRole('button', { name: 'Tidal power' }).tap();
    const shown = page.getByRole('dialog', { name: 'Tidal power' });
    await shown.getByText('notes.md').waitFor();
    const mark = shown.locator('mark');
    expect(await mark.textContent()).toContain('the rise and fall of the sea');
    await expect.poll(() => mark.evaluate(isInView)).toBe(true);
    expect(await page.evaluate(flawsOf)).toEqual([]);
    expect(await shown.getByText('The very end.').count()).toBe(0);
    await shown.getByRole('button', { name: 'Show the whole text' }).tap();
    await shown.getByText('The very end.').waitFor();
    await shown.getByRole('button', { name: 'Close' }).tap();
    await shown.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
  });

  it('is not opened from a shared report', async () => {
    const shared = await stage.client.post(`/api/research/deep/${job}/share`, {});
    const { share } = (await shared.json()) as { share: string };
    opened = await stage.open(share, PHONE);
    const card = await openFirstCitation(opened);
    await card.getByText('the rise and fall of the sea').waitFor();
    expect(await card.getByRole('button').count()).toBe(0);
  });

  it('says so when it was removed, with the passage that is kept', async () => {
    await fetch(`${stage.url}${file}`, { method: 'DELETE' });
    opened = await stage.open(`#/research/${job}`, PHONE);
    const card = await openFirstCitation(opened);
    await card.getByRole('button', { name: 'Tidal power' }).tap();
    const shown = opened.page.getByRole('dialog');
    await shown.getByText('This file was removed.').waitFor();
    await shown.getByText('the rise and fall of the sea').waitFor();
  });
});

function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
}
