import { join } from 'node:path';
import {
  describeWithBrowser,
  launchBrowser,
  namelessControls,
  sidewaysScroll,
  type TestBrowser,
  type TestPage,
  temporaryDirectory,
  type WindowOptions,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundlePages } from '../build/bundle.ts';
import { sendJson, servePages, type TestService } from '../fixtures/testServer.ts';
import { cutWords, isFocused, openPalette, seenFocus } from './pageChecks.suite.ts';

const PHONE: WindowOptions = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
};
const DESKTOP: WindowOptions = { viewport: { width: 1440, height: 900 } };

describeWithBrowser('the gallery of all parts', () => {
  const scratch = temporaryDirectory();
  let server: TestService;
  let browser: TestBrowser;
  let gallery: TestPage;
  let streams = 0;

  beforeAll(async () => {
    const output = join(scratch.path, 'gallery');
    await bundlePages({ source: join(import.meta.dirname, 'fixtures'), output, assets: 'assets' });
    server = await servePages(output, {
      '/healthz': (_request, response) => sendJson(response, 200, { ok: true, services: [] }),
      '/api/secret': (request, response) => {
        const right = request.headers['x-api-key'] === 'open sesame';
        sendJson(
          response,
          right ? 200 : 401,
          right ? { secret: 'The treasure' } : { detail: 'unknown or missing api key' },
        );
      },
      // Breaks off after each event, so that the page has to come back for the next.
      '/api/events': (request, response) => {
        streams += 1;
        const next = Number(request.headers['last-event-id'] ?? 0) + 1;
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write(`retry: 10\n\nid: ${next}\ndata: part ${next}\n\n`);
        if (next < 3) response.end();
      },
    });
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    scratch.remove();
  });

  const open = async (options: WindowOptions) => {
    gallery = await browser.open(server.url, { reducedMotion: 'reduce', ...options });
    await gallery.page.getByRole('heading', { name: 'Gallery' }).waitFor();
  };

  const close = async () => {
    const { problems } = gallery;
    await gallery.close();
    // What the browser says about the 401 that a test provoked is no fault of the page.
    expect(problems.filter((problem) => !problem.includes('status of 401'))).toEqual([]);
  };

  it.each([
    ['a desktop', DESKTOP],
    ['a phone', PHONE],
  ])(
    'keeps to its window, names every control and breaks no policy on %s, light and dark',
    async (_name, device) => {
      await open(device);
      onTestFinished(close);
      for (const colorScheme of ['light', 'dark'] as const) {
        await gallery.page.emulateMedia({ colorScheme });
        expect(await sidewaysScroll(gallery.page)).toBe(0);
        expect(await namelessControls(gallery.page)).toEqual([]);
        expect(await cutWords(gallery.page)).toEqual([]);
      }
    },
  );

  // One page for all: what a test has opened is closed by the keyboard too.
  describe('by keyboard', () => {
    beforeAll(() => open(DESKTOP));
    afterEach(async () => {
      const undo = gallery.page.getByRole('button', { name: 'Undo' });
      const opened = gallery.page.getByRole('dialog').or(undo);
      // A menu that is still closing takes an Escape that is meant for the toast.
      const left = async () => {
        await press('Escape');
        return await opened.count();
      };
      await expect.poll(left).toBe(0);
    });
    afterAll(close);

    const press = (key: string) => gallery.page.keyboard.press(key);
    const focus = (name: string) => gallery.page.getByRole('button', { name, exact: true }).first().focus();
    const focused = () => seenFocus(gallery.page);
    const said = () => gallery.page.locator('output').first().textContent();

    it('skips to the content', async () => {
      await press('Tab');
      await expect.poll(focused).toBe('Skip to the content');
      await press('Enter');
      expect(await gallery.page.evaluate(() => document.activeElement?.id)).toBe('content');
    });

    it('shows the focus on everything that Tab reaches', async () => {
      const reached = new Set<string>();
      for (let step = 0; step < 40; step += 1) {
        await press('Tab');
        reached.add(await seenFocus(gallery.page));
      }
      expect(reached.size).toBeGreaterThan(25);
      expect([...reached].filter((label) => label.includes('(unseen)'))).toEqual([]);
    });

    it('keeps the focus in a dialog and gives it back', async () => {
      await focus('Open the dialog');
      await press('Enter');
      const dialog = gallery.page.getByRole('dialog', { name: 'Rename the schedule' });
      await expect.poll(() => dialog.getByLabel('New name').evaluate(isFocused)).toBe(true);
      for (const name of ['Cancel', 'Rename', 'Close']) {
        await press('Tab');
        await expect.poll(focused).toBe(name);
      }
      await press('Tab');
      await expect.poll(() => dialog.getByLabel('New name').evaluate(isFocused)).toBe(true);
      await press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(focused).toBe('Open the dialog');
    });

    it('puts the safe answer of a question first', async () => {
      await focus('Open the question');
      await press('Enter');
      await gallery.page.getByRole('alertdialog').waitFor();
      await expect.poll(focused).toBe('Keep it');
      await press('Tab');
      await expect.poll(focused).toBe('Delete');
      await press('Enter');
      await expect.poll(said).toBe('Schedule deleted');
      await expect.poll(focused).toBe('Open the question');
    });

    it('walks the tabs with the arrows, round and round', async () => {
      await gallery.page.getByRole('tab', { name: 'Sources' }).focus();
      const shown = () => gallery.page.getByRole('tabpanel').textContent();
      for (const content of ['Each sentence with', 'What was done', 'Eight sources', 'Each sentence with']) {
        await press('ArrowRight');
        await expect.poll(shown).toContain(content);
      }
    });

    it('chooses from a menu with the arrows or the first letter', async () => {
      const highlighted = () => gallery.page.locator('[role=menuitem][data-highlighted]').textContent();
      await focus('Open the menu');
      await press('Enter');
      await expect.poll(highlighted).toContain('Rename');
      await press('ArrowDown');
      await expect.poll(highlighted).toBe('Archive');
      await press('Enter');
      await expect.poll(said).toBe('Archived');
      await expect.poll(focused).toBe('Open the menu');
      await press('Enter');
      await expect.poll(highlighted).toContain('Rename');
      await press('d');
      await expect.poll(highlighted).toBe('Delete');
      await press('Enter');
      await expect.poll(said).toBe('Note deleted');
    });

    it('finds a command in the palette', async () => {
      await openPalette(gallery.page);
      await gallery.page.keyboard.type('gree');
      await expect
        .poll(() => gallery.page.locator('[role=option][data-selected=true]').textContent())
        .toBe('Say hello');
      await press('Enter');
      await gallery.page.getByRole('complementary', { name: 'Hello' }).waitFor();
      await press('Escape');
      await gallery.page.getByRole('complementary').waitFor({ state: 'detached' });
    });

    it('says so when no command is called that', async () => {
      await openPalette(gallery.page);
      await gallery.page.keyboard.type('zzzz');
      await gallery.page.getByText('Nothing is called that').waitFor();
    });

    it('lists the shortcuts under ?, but not while one types', async () => {
      await gallery.page.getByLabel('Name', { exact: true }).first().focus();
      await gallery.page.keyboard.type('what?');
      expect(await gallery.page.getByLabel('Name', { exact: true }).first().inputValue()).toBe('what?');
      await focus('Open the dialog');
      await press('?');
      const help = gallery.page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      await expect.poll(() => help.getByRole('term').allTextContents()).toContain('Open the command palette');
    });

    it('takes back what was done, from the toast', async () => {
      await focus('Delete a note');
      await press('Enter');
      const undo = gallery.page.getByRole('button', { name: 'Undo' });
      await undo.waitFor();
      // F8 leads to the toasts from anywhere.
      await press('F8');
      await press('Tab');
      await press('Tab');
      await expect.poll(focused).toBe('Undo');
      await press('Enter');
      await expect.poll(said).toBe('Note restored');
      await undo.waitFor({ state: 'detached' });
    });
  });

  // One page for all, in this order: it has no key at first, and no clipboard at last.
  describe('in use', () => {
    beforeAll(() => open(DESKTOP));
    afterAll(close);

    it('moves nothing for who asked for less motion', async () => {
      const moving = () => gallery.page.evaluate(() => document.getAnimations().length);
      expect(await moving()).toBe(0);
      await gallery.page.emulateMedia({ reducedMotion: 'no-preference' });
      await expect.poll(moving).toBeGreaterThan(0);
      await gallery.page.emulateMedia({ reducedMotion: 'reduce' });
    });

    it('says what to do when no key is given', async () => {
      await gallery.page.getByRole('button', { name: 'Call with a key' }).click();
      await gallery.page.getByRole('dialog', { name: 'Enter your key' }).waitFor();
      await gallery.page.keyboard.press('Escape');
      await expect
        .poll(() => gallery.page.locator('#answer').textContent())
        .toBe('unknown or missing api key Enter a key that it knows.');
    });

    it('asks for a key on 401, says when it is refused, and keeps the right one', async () => {
      const call = () => gallery.page.getByRole('button', { name: 'Call with a key' }).click();
      const answer = () => gallery.page.locator('#answer').textContent();
      await call();
      const prompt = gallery.page.getByRole('dialog', { name: 'Enter your key' });
      await prompt.getByLabel('Key').fill('wrong');
      await gallery.page.keyboard.press('Enter');
      await prompt.getByText('did not accept the last key').waitFor();
      await prompt.getByLabel('Key').fill('open sesame');
      await prompt.getByRole('button', { name: 'Use this key' }).click();
      await expect.poll(answer).toBe('The treasure');
      expect(await gallery.page.evaluate(() => localStorage.getItem('gallery.key'))).toBe('open sesame');
      await gallery.page.reload();
      await call();
      await expect.poll(answer).toBe('The treasure');
    });

    it('follows events over broken connections', async () => {
      streams = 0;
      await gallery.page.getByRole('button', { name: 'Follow the events' }).click();
      await expect
        .poll(() => gallery.page.locator('#events').textContent())
        .toBe('open: 1 part 1, 2 part 2, 3 part 3');
      expect(streams).toBe(3);
    });

    it('shows markdown without running what is in it, and fetches nothing from outside', async () => {
      const reading = gallery.page.getByRole('region', { name: 'reading' });
      await expect.poll(() => reading.getByText('<script>alert(1)</script>').count()).toBe(2);
      expect(await gallery.page.locator('img').count()).toBe(0);
      const link = reading.getByRole('link', { name: 'a plan' }).first();
      expect(await link.getAttribute('rel')).toContain('noopener');
      expect(await link.textContent()).toContain('not loaded from example.com');
      await reading.getByText('(example.com)', { exact: true }).first().waitFor();
    });

    it('shows the exact time on focus', async () => {
      const time = gallery.page.locator('time').first();
      await time.evaluate((element) => element.scrollIntoView({ block: 'center' }));
      // Scrolling closes a tooltip: the keyboard comes when the page stands still.
      await gallery.page.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
      );
      await time.focus();
      await expect
        .poll(() => gallery.page.getByRole('tooltip').textContent())
        .toMatch(/\d{4}.*\d\d:\d\d:\d\d/);
    });

    it('copies, also where the clipboard is closed to the page', async () => {
      await gallery.page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
      const button = gallery.page.getByRole('button', { name: 'Copy the task id' }).first();
      await button.click();
      await gallery.page.getByRole('button', { name: 'Copied' }).waitFor();
      await gallery.page.getByLabel('Name', { exact: true }).first().focus();
      await gallery.page.keyboard.press('Control+v');
      expect(await gallery.page.getByLabel('Name', { exact: true }).first().inputValue()).toBe('task-7f3a');
    });
  });

  describe('in a window of its own', () => {
    afterEach(close);

    it('keeps the chosen theme over a reload, without a flash, and follows the system again', async () => {
      await open({ ...DESKTOP, colorScheme: 'light' });
      const ground = () =>
        gallery.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const light = await ground();
      const choose = async (choice: string) => {
        await gallery.page
          .getByRole('button', { name: /^Theme:/ })
          .first()
          .click();
        await gallery.page.getByRole('menuitemradio', { name: choice }).click();
        await gallery.page.getByRole('menu').waitFor({ state: 'detached' });
      };
      await choose('Dark');
      expect(await ground()).not.toBe(light);
      const script = gallery.page.waitForResponse((response) => response.url().includes('/assets/index-'));
      await gallery.page.reload({ waitUntil: 'commit' });
      await gallery.page.waitForFunction(() => document.body !== null);
      // Set by the first script already, before the page's own has run.
      expect(await gallery.page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
      await script;
      await choose('As the system');
      expect(await ground()).toBe(light);
    });

    it.each([
      ['two rows on a phone', PHONE, 2],
      ['one row on a desktop', DESKTOP, 1],
    ])('gives a long title %s', async (_name, device, rows) => {
      await open(device);
      const title = gallery.page
        .getByRole('listitem')
        .getByText(/^A title so long.*phone$/)
        .first();
      const shown = await title.evaluate(
        (element) =>
          element.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(element).lineHeight),
      );
      expect(Math.round(shown)).toBe(rows);
    });

    it('shows sections in a strip, services in a bar, the rest and the inspector in sheets, on a phone', async () => {
      await open(PHONE);
      const strip = gallery.page.getByRole('navigation', { name: 'Sections' });
      expect(await strip.getByRole('link').allTextContents()).toEqual([
        'Parts',
        'Fields',
        'Reading',
        'Interactions',
      ]);
      const bar = gallery.page.getByRole('navigation', { name: 'Services' });
      await bar.getByRole('button', { name: 'More' }).click();
      const sheet = gallery.page.getByRole('dialog', { name: 'More' });
      await sheet.getByRole('button', { name: 'Dark' }).click();
      expect(await gallery.page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
      await sheet.getByRole('button', { name: 'Close' }).click();
      await gallery.page.getByRole('button', { name: 'Inspect' }).click();
      await gallery.page.getByRole('dialog', { name: 'morning-brief' }).waitFor();
      expect(await sidewaysScroll(gallery.page)).toBe(0);
    });
  });
});
