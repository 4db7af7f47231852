import {
  checkLooks,
  describeWithBrowser,
  launchBrowser,
  phoneWindow,
  type TestBrowser,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { plainPage } from './plain-page.ts';

describeWithBrowser('a plain page', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it.each([
    ['light', 'rgb(250, 248, 244)'],
    ['dark', 'rgb(20, 21, 26)'],
  ] as const)('has the colours, the font and the icon of the others, %s', async (colorScheme, paper) => {
    const opened = await browser.open(await start(), { ...phoneWindow, colorScheme });
    const { page } = opened;
    await checkLooks(opened, { axe: 'page' });
    await page.emulateMedia({ colorScheme });
    const seen = await page.evaluate(async () => {
      await document.fonts.ready;
      const { backgroundColor, fontFamily } = getComputedStyle(document.body);
      const fonts = [...document.fonts].filter(({ status }) => status === 'loaded');
      const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href;
      return {
        backgroundColor,
        fontFamily,
        fonts: fonts.map(({ family }) => family.replaceAll('"', '')),
        isIconShown:
          document.querySelector('img')?.src === icon && document.querySelector('img')?.naturalWidth,
      };
    });
    expect(seen).toEqual({
      backgroundColor: paper,
      fontFamily: expect.stringMatching(/^"Instrument Sans Variable"/),
      fonts: ['Instrument Sans Variable'],
      isIconShown: expect.any(Number),
    });
    await opened.close();
  });
});

async function start(): Promise<string> {
  const server = await startApp((app) =>
    app.get('/deep/page', (context) =>
      plainPage(context, {
        title: 'Allow Ink',
        heading: 'Allow Ink to use Helm?',
        paragraphs: ['It will act as Ava.'],
        form: {
          action: 'page',
          fields: {},
          buttons: [
            { value: 'allow', text: 'Allow' },
            { value: 'refuse', text: 'Refuse' },
          ],
          leadsTo: '',
        },
        links: [{ href: '/', text: 'Open the page of the agent' }],
        status: 200,
      }),
    ),
  );
  return `${server.url}/deep/page`;
}
