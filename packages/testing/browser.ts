import { accessSync, constants } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { describe } from 'vitest';
import { HANGS_MS } from './wait.ts';

const HEADLESS_NAME = 'chromium-headless-shell';

/** The headless build first: the same engine opens a window for a quarter of the processor time. */
const NAMES = [HEADLESS_NAME, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const CLOSE_LIMIT_MS = 10_000;

/** Debian's Chromium in a container: no sandbox, no graphics card, and nothing sent outside. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
];

/**
 * The whole browser loads two pages of its own for the address bar of each window, more work than a page of ours. The switch
 * replaces Playwright's, so that what Playwright switches off stands here too.
 */
const DISABLED_FEATURES = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'],
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades'],
  ...['HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
];

export interface BrowserOptions {
  /** Further flags for Chromium. */
  args?: string[];
  viewport?: { width: number; height: number };
  /** A WAV file that the page hears as its microphone, with leave given. */
  fakeMicrophone?: string;
}

/** How a window is set up: viewport, colorScheme, reducedMotion, hasTouch and more. */
export type WindowOptions = BrowserContextOptions;

export interface TestPage {
  page: Page;
  /** What went wrong in the page so far: console errors, uncaught failures, breaches of the content policy. */
  problems: string[];
  close(): Promise<void>;
}

export interface TestBrowser {
  /** Opens an address in a window of its own, with nothing stored. */
  open(url: string, options?: WindowOptions): Promise<TestPage>;
  /** Closes every window and ends the process; calling it again is harmless. */
  close(): Promise<void>;
}

/** Where Chromium is: CHROMIUM_PATH, the PATH, or Debian's place. CHROMIUM_HEADLESS_SHELL=0 asks for the whole browser. */
export function findChromium(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin'].filter(Boolean);
  const named = process.env.CHROMIUM_PATH;
  const names = process.env.CHROMIUM_HEADLESS_SHELL === '0' ? NAMES.slice(1) : NAMES;
  const candidates = [
    ...(named ? [named] : []),
    ...folders.flatMap((folder) => names.map((name) => join(folder, name))),
  ];
  return candidates.find(isExecutable);
}

/** Tests that need Chromium; where there is none they are skipped, and their title says why. */
export function describeWithBrowser(title: string, tests: () => void): void {
  if (findChromium() === undefined)
    describe.skip(`${title} (no Chromium: install it or set CHROMIUM_PATH)`, tests);
  else describe(title, tests);
}

export async function launchBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('No Chromium found: install it, or set CHROMIUM_PATH.');
  // Loaded here, so that tests without a browser do not pay for it.
  const { chromium } = await import('playwright-core');
  const args = [
    ...FLAGS,
    ...(basename(executablePath) === HEADLESS_NAME ? [] : [`--disable-features=${DISABLED_FEATURES}`]),
    ...microphoneFlags(options.fakeMicrophone),
    ...(options.args ?? []),
  ];
  const browser = await chromium.launch({ executablePath, args });
  return {
    open: (url, context) =>
      openPage(browser, url, { ...(options.viewport && { viewport: options.viewport }), ...context }),
    close: () => closeInTime(browser),
  };
}

async function openPage(browser: Browser, url: string, options: BrowserContextOptions): Promise<TestPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(HANGS_MS);
  const page = await context.newPage();
  const problems = await watchProblems(page);
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}

async function watchProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    const text = message.text();
    // Its own words do not say which.
    const which = text.startsWith('Failed to load resource') ? ` ${message.location().url}` : '';
    problems.push(`console: ${text}${which}`);
  });
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`));
  await page.exposeFunction('reportPolicyBreach', (words: string) =>
    problems.push(`content policy: ${words}`),
  );
  await page.addInitScript(() => {
    addEventListener(
      'securitypolicyviolation',
      ({ violatedDirective, blockedURI, sourceFile, lineNumber }) => {
        const report = Reflect.get(globalThis, 'reportPolicyBreach') as (words: string) => void;
        report(`${violatedDirective} refused ${blockedURI} (${sourceFile}:${lineNumber})`);
      },
    );
  });
  return problems;
}

// A browser that does not close in time has no windows left that matter; its process ends with this one.
async function closeInTime(browser: Browser): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Chromium did not close within ${CLOSE_LIMIT_MS} ms`)),
      CLOSE_LIMIT_MS,
    );
  });
  try {
    await Promise.race([browser.close(), limit]);
  } finally {
    clearTimeout(timer);
  }
}

function microphoneFlags(file: string | undefined): string[] {
  if (file === undefined) return [];
  return [
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${file}`,
  ];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
