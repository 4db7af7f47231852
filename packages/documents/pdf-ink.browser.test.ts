// Text that Chromium printed into a PDF in the colour of the page.
import { describeWithBrowser, launchBrowser, type TestBrowser } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { extract } from './read.ts';

const PAGE = `<!doctype html><title>Locks</title><main><h1>Locks</h1>
<p>The lock is 24 m wide and was opened in 1966.</p>
<p style="color:#fff">Nobody sees the figure 2007 here.</p>
<p>It was opened <span style="color:#fff">not in 1807 but </span>by the mayor.</p>
<div style="background:#002060;padding:8px"><p style="color:#fff">White words stand on a blue band.</p></div></main>`;

describeWithBrowser('a PDF that Chromium printed', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(async () => await browser.close());

  it('is without white text on white, and with white text on a colour', async () => {
    const { page, close } = await browser.open('about:blank');
    await page.setContent(PAGE);
    const bytes = await page.pdf({ printBackground: true });
    await close();
    const { text, hidden, isWhole } = await extract({ bytes, type: 'application/pdf', name: 'a.pdf' });
    expect(text).toContain('The lock is 24 m wide and was opened in 1966.');
    expect(text).toContain('White words stand on a blue band.');
    expect(text.replace(/\s+/g, ' ')).toContain('It was opened by the mayor.');
    expect(text).not.toMatch(/2007|1807/);
    expect(hidden).toBeGreaterThan(40);
    expect(isWhole).toBe(false);
  });
});
