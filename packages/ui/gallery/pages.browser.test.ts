import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  describeWithBrowser,
  launchBrowser,
  type TestBrowser,
  type TestPage,
  type WindowOptions,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ensurePages } from '../build/ensure.ts';
import { type Route, sendJson, servePages, type TestService } from '../fixtures/testServer.ts';
import { openPalette } from './pageChecks.suite.ts';

const MOST_SCRIPT = 150_000;
const MODEL = { name: 'trunkline-demo', demo: true };
const MISSING = [
  { what: 'A real model', variable: 'LLM_GATEWAY_URL', hint: 'Any OpenAI-compatible address.' },
];
const SERVICES = [
  { name: 'voice', url: 'http://127.0.0.1:7866', state: 'live' },
  { name: 'agent', url: 'http://127.0.0.1:7870', state: 'live' },
  { name: 'research', url: 'http://127.0.0.1:3399', state: 'starting' },
  { name: 'switchboard', url: 'http://127.0.0.1:3000', state: 'failed' },
];

const HEALTH = {
  switchboard: { status: 'ok', model: MODEL, missing: MISSING, services: SERVICES },
};

const APPS = [
  { app: 'switchboard', title: 'Switchboard', shown: ['LLM_GATEWAY_URL', 'For full function'] },
] as const;

describeWithBrowser('the first page', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  describe.each(APPS)('of $app', ({ app, title, shown }) => {
    let directory: string;
    let server: TestService;
    let opened: TestPage | undefined;

    beforeAll(async () => {
      ({ directory } = await ensurePages({ app }));
      server = await servePages(directory, {
        '/healthz': (_request, response) => sendJson(response, 200, HEALTH[app]),
      });
    });
    afterAll(() => server.stop());
    afterEach(() => opened?.close());

    const open = async (options: WindowOptions = {}) => {
      opened = await browser.open(server.url, { reducedMotion: 'reduce', ...options });
      await opened.page.getByRole('heading', { name: title, level: 1 }).waitFor();
      return opened;
    };

    it('leads to the documentation, the raw status and the services that run', async () => {
      const { page } = await open();
      for (const words of shown) await page.getByText(words).first().waitFor();
      const links = page.getByRole('main').getByRole('link');
      const targets = await links.evaluateAll((found) => found.map((link) => link.getAttribute('href')));
      const others = HEALTH[app].services.filter(({ name }) => name !== app).map(({ url }) => `${url}/`);
      expect(targets.sort()).toEqual(['/docs', '/healthz', '/setup', ...others].sort());
    });

    it(`brings less than ${MOST_SCRIPT / 1000} kB of script`, () => {
      const assets = join(directory, 'assets');
      // What the page itself names; other pages of the service have scripts of their own.
      const html = readFileSync(join(directory, 'index.html'), 'utf8');
      const scripts = readdirSync(assets).filter((file) => file.endsWith('.js') && html.includes(file));
      const size = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(join(assets, file))).length, 0);
      expect(size).toBeLessThan(MOST_SCRIPT);
    });
  });
});

describeWithBrowser('a page whose service', () => {
  let server: TestService;
  let opened: TestPage;
  let browser: TestBrowser;
  let health: Route;

  beforeAll(async () => {
    const { directory } = await ensurePages({ app: 'switchboard' });
    server = await servePages(directory, { '/healthz': (request, response) => health(request, response) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });
  afterEach(() => opened.close());

  it('is not ready says so, with the same facts', async () => {
    const body = { status: 'starting', flows: 0 };
    health = (_request, response) => sendJson(response, 503, body);
    opened = await browser.open(server.url);
    await opened.page.getByText('Not ready yet').waitFor();
    await opened.page.getByText('1 more field').waitFor();
  });

  it('is not reached says what to do, and goes on when it is back', async () => {
    health = (request) => request.destroy();
    opened = await browser.open(server.url);
    const alert = opened.page.getByRole('alert');
    await alert.getByText('Check that the service runs').waitFor();
    health = (_request, response) => sendJson(response, 200, HEALTH.switchboard);
    await alert.getByRole('button', { name: 'Check again' }).click();
    await opened.page.getByText('For full function').waitFor();
    expect(await alert.count()).toBe(0);
  });

  it('runs offers what it can do in the palette', async () => {
    health = (_request, response) => sendJson(response, 200, HEALTH.switchboard);
    opened = await browser.open(server.url);
    const { page } = opened;
    await page.getByText('For full function').waitFor();
    await openPalette(page);
    const options = page.getByRole('option');
    for (const name of [
      'Check the status again',
      'Open the API documentation',
      'Open the raw status',
      'Open Voice',
    ]) {
      await options.getByText(name).waitFor();
    }
    await page.keyboard.type('dark');
    await page.locator('[role=option][data-selected=true]').getByText('Theme: dark').waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });
});
