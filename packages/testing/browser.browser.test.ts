import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeWithBrowser, findChromium, launchBrowser, type TestBrowser } from './browser.ts';
import { temporaryDirectory } from './directory.ts';
import { axeViolations } from './page-checks.ts';
import { checkLooks } from './page-suite.ts';

const SOON = { timeout: 60_000 };
const WELL_MADE =
  '<html lang="en"><title>Well made</title><meta name="viewport" content="width=device-width"><main><h1>One</h1><p>Words</p></main><style>p { background: #fff }</style>';
const PAGES: Record<string, string> = {
  '/good': '<title>Good</title><p>Nothing wrong here</p>',
  '/loud': "<script>console.error('it broke'); console.warn('only a warning')</script>",
  '/thrown': "<script>setTimeout(() => { throw new Error('nobody caught this') })</script>",
  '/framed':
    '<html lang="en"><title>Framed</title><nav><a href="/"></a></nav><main><h1>One</h1><h3>Three</h3><input></main>',
  '/dim-at-night': `${WELL_MADE}<style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style>`,
  '/more-at-night': `${WELL_MADE}<button></button><style>button { display: none } @media (prefers-color-scheme: dark) { button { display: block } }</style>`,
  '/policy': '<p style="color: red">red</p><script src="https://example.com/evil.js"></script>',
};

describe('findChromium', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('takes CHROMIUM_PATH first, when it leads to a program', () => {
    vi.stubEnv('CHROMIUM_PATH', process.execPath);
    expect(findChromium()).toBe(process.execPath);
    vi.stubEnv('CHROMIUM_PATH', '/nowhere/chromium');
    expect(findChromium()).not.toBe('/nowhere/chromium');
  });

  it('looks through the PATH', () => {
    const scratch = temporaryDirectory();
    writeFileSync(join(scratch.path, 'chromium'), '', { mode: 0o755 });
    vi.stubEnv('CHROMIUM_PATH', '');
    vi.stubEnv('PATH', scratch.path);
    expect(findChromium()).toBe(join(scratch.path, 'chromium'));
    writeFileSync(join(scratch.path, 'chromium-headless-shell'), '', { mode: 0o755 });
    expect(findChromium()).toBe(join(scratch.path, 'chromium-headless-shell'));
    vi.stubEnv('CHROMIUM_HEADLESS_SHELL', '0');
    expect(findChromium()).toBe(join(scratch.path, 'chromium'));
    scratch.remove();
  });
});

describeWithBrowser('launchBrowser', () => {
  let server: Server;
  let url: string;
  let browser: TestBrowser;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const policy = request.url === '/policy' ? { 'content-security-policy': "default-src 'self'" } : {};
      response.writeHead(200, { 'content-type': 'text/html', ...policy });
      response.end(`<!doctype html><link rel="icon" href="data:,">${PAGES[request.url ?? ''] ?? ''}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser({ viewport: { width: 390, height: 844 }, fakeMicrophone: silence() });
  });

  afterAll(async () => {
    await browser.close();
    server.close();
  });

  it('finds with axe what is wrong with a page, or with its content alone', async () => {
    const { page, close } = await browser.open(`${url}/framed`);
    const rules = async (part: 'page' | 'content') =>
      (await axeViolations(page, part)).map((words) => words.replace(/:.*/s, '')).sort();
    expect(await rules('content')).toEqual(['heading-order', 'label']);
    expect(await rules('page')).toEqual(['heading-order', 'label', 'link-name']);
    await close();
  });

  it('reads colours alone where that is asked', async () => {
    const { page, close } = await browser.open(`${url}/dim-at-night`, { colorScheme: 'dark' });
    const rules = (await axeViolations(page, 'page', 'colours')).map((words) => words.replace(/:.*/s, ''));
    expect(rules).toEqual(['color-contrast']);
    await close();
  });

  it.each([
    ['/dim-at-night', /^color-contrast/],
    ['/more-at-night', /^button-name/],
  ])('finds what is wrong in the dark alone: %s', async (path, words) => {
    const opened = await browser.open(`${url}${path}`);
    await expect(checkLooks(opened, { axe: 'page' })).rejects.toMatchObject({
      message: expect.stringContaining(`${path} 1280 dark`),
      actual: [expect.stringMatching(words)],
    });
    await opened.close();
  });

  it('opens a page of the wanted size and finds nothing wrong with a good one', async () => {
    const { page, problems, close } = await browser.open(`${url}/good`);
    expect(await page.title()).toBe('Good');
    expect(page.viewportSize()).toEqual({ width: 390, height: 844 });
    expect(problems).toEqual([]);
    await close();
  });

  it('reports console errors, not warnings', async () => {
    const { problems } = await browser.open(`${url}/loud`);
    expect(problems).toEqual(['console: it broke']);
  });

  it('reports what nobody caught', async () => {
    const { problems } = await browser.open(`${url}/thrown`);
    await vi.waitFor(() => expect(problems).toEqual(['uncaught: nobody caught this']), SOON);
  });

  it('reports breaches of the content policy', async () => {
    const { problems } = await browser.open(`${url}/policy`);
    await vi.waitFor(() => {
      expect(problems).toContainEqual(
        expect.stringMatching(/^content policy: style-src-attr refused inline/),
      );
      expect(problems).toContainEqual(
        expect.stringMatching(/^content policy: script-src-elem refused https:\/\/example\.com/),
      );
    });
  });

  it('lets the page hear a microphone without asking', async () => {
    const { page } = await browser.open(`${url}/good`);
    const tracks = await page.evaluate(async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      return stream.getAudioTracks().map((track) => track.readyState);
    });
    expect(tracks).toEqual(['live']);
  });

  it('has the whole browser load no page of its own beside ours', async ({ skip }) => {
    vi.stubEnv('CHROMIUM_HEADLESS_SHELL', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    skip(findChromium() === undefined, 'no Chromium but the headless build');
    const whole = await launchBrowser();
    onTestFinished(() => whole.close());
    const { page } = await whole.open(`${url}/good`);
    const session = await page.context().browser()?.newBrowserCDPSession();
    const targets = await session?.send('Target.getTargets', { filter: [{}] });
    expect(targets?.targetInfos.map((target) => target.url).filter((each) => each !== page.url())).toEqual(
      [],
    );
  });

  it('can be closed twice', async () => {
    const other = await launchBrowser();
    await other.close();
    await other.close();
    await expect(other.open(`${url}/good`)).rejects.toThrow();
  });

  const scratch = temporaryDirectory();
  afterAll(() => scratch.remove());

  // A tenth of a second of silence, 16 bit, 16 kHz, one channel.
  function silence(): string {
    const samples = Buffer.alloc(3200);
    const header = Buffer.alloc(44);
    header.write('RIFF', 0);
    header.writeUInt32LE(36 + samples.length, 4);
    header.write('WAVEfmt ', 8);
    for (const [value, at, size] of [
      [16, 16, 4],
      [1, 20, 2],
      [1, 22, 2],
      [16_000, 24, 4],
      [32_000, 28, 4],
      [2, 32, 2],
      [16, 34, 2],
    ] as const) {
      header.writeUIntLE(value, at, size);
    }
    header.write('data', 36);
    header.writeUInt32LE(samples.length, 40);
    const file = join(scratch.path, 'silence.wav');
    writeFileSync(file, Buffer.concat([header, samples]));
    return file;
  }
});
