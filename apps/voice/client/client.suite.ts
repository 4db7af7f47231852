// What the tests of the page share: a browser with a microphone that the test makes, and the page in it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  launchBrowser,
  type TestBrowser,
  type TestPage,
  temporaryDirectory,
  type WindowOptions,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { AudioFrame } from '../speech/audio/samples.ts';
import { encodeWav } from '../speech/audio/wav.ts';

export const PHONE: WindowOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
export const DESKTOP: WindowOptions = { viewport: { width: 1440, height: 900 } };
export const DEVICES = [
  ['a phone', PHONE],
  ['a desktop', DESKTOP],
] as const;

export type Page = TestPage['page'];

/** Two users with keys: an admin, and one with a single skill. */
export const ROSTER = {
  'users.yaml': [
    'users:',
    '  - { id: ada, api_key: ada-key, display_name: Ada, role: admin }',
    '  - { id: ben, api_key: ben-key, display_name: Ben, allowed_skills: [chef] }',
    '  - { id: cleo, api_key: cleo-key, display_name: Cleo, allowed_skills: [default, chef] }',
  ].join('\n'),
};

/** A browser for all tests of a file, and the built page. */
export function withBrowser(options: { microphone?: () => AudioFrame | Promise<AudioFrame> } = {}) {
  const scratch = temporaryDirectory();
  let browser: TestBrowser;
  beforeAll(async () => {
    await ensurePages({ app: 'voice' });
    const sound = await options.microphone?.();
    browser = await launchBrowser({
      args: ['--autoplay-policy=no-user-gesture-required'],
      ...(sound && { fakeMicrophone: microphoneFile(join(scratch.path, 'microphone.wav'), sound) }),
    });
  });
  afterAll(async () => {
    await browser.close();
    scratch.remove();
  });
  return {
    /** The page with a calm orb, closed when the test ends; with a key it is signed in. */
    async open(url: string, { key, ...window }: WindowOptions & { key?: string } = {}): Promise<TestPage> {
      const settings: WindowOptions = { reducedMotion: 'reduce', serviceWorkers: 'block', ...window };
      const opened = await browser.open(key === undefined ? url : `${url}/healthz`, settings);
      onTestFinished(() => opened.close());
      if (key !== undefined) {
        await opened.page.evaluate((kept) => localStorage.setItem('trunkline.voice.key', kept), key);
        await opened.page.goto(url);
      }
      await orb(opened.page).waitFor();
      return opened;
    },
  };
}

export const orb = (page: Page) => page.locator('[data-orb-button]');
export const captions = (page: Page) => page.getByRole('list', { name: 'Conversation' });

/** Waits until the page says this. */
export async function says(page: Page, words: string | RegExp): Promise<void> {
  await page.getByRole('status').getByText(words).first().waitFor();
}

/** Taps the orb and waits for the connection. */
export async function startCall(page: Page): Promise<void> {
  await orb(page).click();
  await says(page, /^(Listening|Hold to talk)$/);
}

export async function openDrawer(page: Page) {
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  return page
    .getByRole('dialog', { name: 'Settings' })
    .or(page.getByRole('complementary', { name: 'Settings' }));
}

function microphoneFile(path: string, { samples, sampleRate }: AudioFrame): string {
  writeFileSync(path, encodeWav(new Uint8Array(samples.buffer), sampleRate));
  return path;
}
