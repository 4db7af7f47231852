// What the tests of a service's pages share: the service, a browser, and what must hold for every page.
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchBrowser, type TestBrowser, type TestPage, type WindowOptions } from './browser.ts';
import { axeViolations, namelessControls, sidewaysScroll } from './page-checks.ts';

const START_LIMIT_MS = 180_000;

export const desktopWindow = { width: 1280, height: 800 };
export const phoneWindow = { width: 390, height: 844 };

export interface PagesUnderTest<Service> {
  service(): Service;
  /** Opens a page of the service; closed after the test. */
  open(path: string, window?: WindowOptions): Promise<TestPage>;
}

/** Starts a service with its pages, and a browser, for the tests of a file. */
export function pagesUnderTest<Service extends { url: string; stop(): Promise<void> }>(
  start: () => Promise<Service>,
): PagesUnderTest<Service> {
  let browser: TestBrowser;
  let service: Service;
  const opened: TestPage[] = [];
  beforeAll(async () => {
    [browser, service] = await Promise.all([launchBrowser(), start()]);
  }, START_LIMIT_MS);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((page) => page.close()));
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });
  return {
    service: () => service,
    async open(path, window = {}) {
      const page = await browser.open(`${service.url}${path}`, { reducedMotion: 'reduce', ...window });
      opened.push(page);
      return page;
    },
  };
}

/** Desktop and phone, light and dark, as far as they differ. */
const combinations = [
  { size: desktopWindow, colorScheme: 'light' },
  { size: desktopWindow, colorScheme: 'dark' },
  { size: phoneWindow, colorScheme: 'light' },
  { size: phoneWindow, colorScheme: 'dark' },
] as const;

interface Looks {
  /**
   * Where no rule of axe may be broken: on the whole page, in each size and theme, or in its content, on a desktop in light
   * and on a phone in the dark. What stands around the content is the same on many pages: one of them is looked at whole.
   * `tab` is a part of a page that was looked at: its content, on a phone in the dark.
   */
  axe?: 'page' | 'content' | 'tab';
}

/** On a desktop and a phone: nothing scrolls sideways, and every control has a name; with `axe`, no rule of it is broken. */
export async function checkLooks({ page, problems }: TestPage, { axe }: Looks = {}): Promise<void> {
  const before = page.viewportSize();
  for (const { size, colorScheme } of combinations) {
    const isLight = colorScheme === 'light';
    const isOneOfTwo = isLight === (size === desktopWindow) && !(isLight && axe === 'tab');
    const isLooked = axe === undefined ? isLight : axe === 'page' || isOneOfTwo;
    if (!isLooked && !process.env.SCREENSHOTS) continue;
    await page.setViewportSize(size);
    // To axe, what can be scrolled out from under the bar at the foot is covered.
    const height = axe ? await page.evaluate(wholeHeight) : size.height;
    if (height !== size.height) await page.setViewportSize({ ...size, height });
    await page.emulateMedia({ colorScheme });
    expect(await sidewaysScroll(page), `${size.width} ${colorScheme}`).toBe(0);
    const part = axe === 'page' ? axe : 'content';
    const isSame = axe === 'page' && (await page.evaluate(isShownAsBefore));
    // The look before was at the same size, in light.
    const rules = isSame && !isLight ? 'colours' : 'all';
    const wrong = axe ? await axeViolations(page, part, rules) : await namelessControls(page);
    expect(wrong, `${page.url()} ${size.width} ${colorScheme}`).toEqual([]);
    await picture(page, `${size.width}-${colorScheme}`);
  }
  if (before) await page.setViewportSize(before);
  expect(problems).toEqual([]);
}

/** Runs in the page: whether it has the elements, and shows the same ones of them, as when this was last asked; the name of the theme aside. */
function isShownAsBefore(): boolean {
  const html = document.documentElement.outerHTML.replaceAll(/ data-theme="\w+"/g, '');
  const shown = Array.from(document.querySelectorAll('*'), (element) =>
    Number(element.checkVisibility({ visibilityProperty: true })),
  );
  const now = `${html} ${shown.join('')}`;
  const isSame = Reflect.get(globalThis, 'shownBefore') === now;
  Reflect.set(globalThis, 'shownBefore', now);
  return isSame;
}

/** Runs in the page. */
function wholeHeight(): number {
  return Math.max(window.innerHeight, document.documentElement.scrollHeight);
}

/** A picture for whoever looks the pages over: SCREENSHOTS names the folder. */
async function picture(page: TestPage['page'], name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  const test = (expect.getState().currentTestName ?? 'page').replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 60);
  await page.screenshot({ path: `${folder}/${test}-${name}.png` });
}
