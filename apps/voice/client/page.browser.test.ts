import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { axeViolations, describeWithBrowser, startSidecarServer, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { startVoice } from '../voice.suite.ts';
import { DESKTOP, DEVICES, openDrawer, orb, type Page, PHONE, ROSTER, withBrowser } from './client.suite.ts';

const MOST_SCRIPT = 200_000;

describeWithBrowser('the voice page', () => {
  const { open } = withBrowser();

  it.each(DEVICES)(
    'keeps to its window and breaks no policy on %s, light and dark',
    async (_name, device) => {
      const voice = await startVoice();
      const { page, problems } = await open(voice.url, device);
      await page.getByText('A small demo model answers. Set up a real model').waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth),
        ).toBeLessThanOrEqual(0);
      }
      await openDrawer(page);
      await page.getByRole('tab', { name: 'Orb' }).click();
      await page.getByText('For the skill file').waitFor();
      expect(await namelessControls(page)).toEqual([]);
      expect(await axeViolations(page)).toEqual([]);
      expect(problems).toEqual([]);
    },
  );

  it('lists the keys of a call before there is one', async () => {
    const voice = await startVoice();
    const { page } = await open(voice.url, DESKTOP);
    await orb(page).waitFor();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    for (const words of ['Start talking, then mute', 'Mute', 'End the call'])
      await help.getByText(words, { exact: true }).waitFor();
  });

  it('tells the service in which zone the caller is', async () => {
    const voice = await startQuickVoice();
    const { page } = await open(voice.url, { ...DESKTOP, timezoneId: 'Asia/Tokyo' });
    const offer = page.waitForRequest('**/api/offer');
    await page.getByRole('textbox', { name: 'Message' }).fill('What time is it?');
    await page.keyboard.press('Enter');
    expect((await offer).postDataJSON()).toMatchObject({ request_data: { timezone: 'Asia/Tokyo' } });
    await page.getByText(/Time in Tokyo/).waitFor();
  });

  it('speaks the language that the caller chooses, also the next time', async () => {
    const voice = await startQuickVoice();
    const { page } = await open(voice.url, DESKTOP);
    // Candidates are sent to the same path.
    const nextOffer = async () => {
      const isOffer = (url: string, method: string) => method === 'POST' && url.endsWith('/api/offer');
      const request = await page.waitForRequest((each) => isOffer(each.url(), each.method()));
      return request.postDataJSON().request_data.language as unknown;
    };
    const send = async () => {
      const language = nextOffer();
      await page.getByRole('textbox', { name: 'Message' }).fill('Hola');
      await page.keyboard.press('Enter');
      return language;
    };
    const language = (await openDrawer(page)).getByLabel('Language');
    await page.getByText('Only spoken English is understood here.').waitFor();
    await language.selectOption('Spanish (español)');
    await page.getByText(/Answers come in this language/).waitFor();
    expect(await send()).toBe('es');
    await page.reload();
    await orb(page).waitFor();
    expect(await send()).toBe('es');
    const drawer = await openDrawer(page);
    await drawer.getByLabel('Language').selectOption('Automatic');
    const again = nextOffer();
    await drawer.getByRole('button', { name: 'Start again now' }).click();
    expect(await again).toBeUndefined();
  });

  it(`brings less than ${MOST_SCRIPT / 1000} kB of script`, () => {
    const folder = join(import.meta.dirname, '../dist/static');
    const scripts = readdirSync(folder).filter((file) => file.endsWith('.js'));
    const size = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).length, 0);
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(MOST_SCRIPT);
  });

  describe.each(DEVICES)('on %s', (_name, device) => {
    it('shows a user the Voice tab alone: no orb, no admin controls [V016]', async () => {
      const voice = await startVoice({ files: ROSTER });
      const { page } = await open(voice.url, { ...device, key: 'cleo-key' });
      const drawer = await openDrawer(page);
      await drawer.getByText('Cleo').waitFor();
      await drawer.getByLabel('Skill').waitFor();
      await drawer.getByLabel('Verbosity').waitFor();
      await drawer.getByText('Clone a voice').waitFor();
      expect(await drawer.getByRole('tab').count()).toBe(0);
      for (const name of ['Orb', 'Admin', 'Randomise', 'Reload the skills', 'Set the skill'])
        expect(await page.getByText(name, { exact: true }).count(), name).toBe(0);
    });

    it('shows an admin everything [V016]', async () => {
      const voice = await startVoice({ files: ROSTER });
      const { page } = await open(voice.url, { ...device, key: 'ada-key' });
      const drawer = await openDrawer(page);
      expect(await drawer.getByRole('tab').allTextContents()).toEqual(['Voice', 'Orb', 'Admin']);
      await drawer.getByRole('tab', { name: 'Orb' }).click();
      await drawer.getByRole('button', { name: 'Randomise' }).waitFor();
      await drawer.getByRole('tab', { name: 'Admin' }).click();
      await drawer.getByRole('button', { name: 'Reload the skills' }).waitFor();
    });

    it('shows a word instead of a list to who has a single skill [V017]', async () => {
      const voice = await startVoice({ files: ROSTER });
      const { page } = await open(voice.url, { ...device, key: 'ben-key' });
      const drawer = await openDrawer(page);
      await drawer.getByText('Chef', { exact: true }).waitFor();
      await drawer.getByLabel('Verbosity').waitFor();
      expect(await drawer.getByLabel('Skill').count()).toBe(0);
    });
  });

  it('keeps the verbosity and the skill that a user chooses', async () => {
    const voice = await startVoice({ files: ROSTER });
    const { page } = await open(voice.url, { ...PHONE, key: 'cleo-key' });
    const drawer = await openDrawer(page);
    await drawer.getByLabel('Verbosity').selectOption('chatty');
    await drawer.getByText('Talks with you as a friend would.').waitFor();
    expect((await voice.get('/api/verbosity', 'cleo-key')).body).toEqual({ verbosity: 'chatty' });
    await drawer.getByLabel('Skill').selectOption('chef');
    await waitFor(async () => String((await voice.get('/api/skills', 'cleo-key')).body.active) === 'chef');
    // No call is under way: the orb changes at once.
    await waitFor(async () => (await variantOf(page)) === 'particles');
  });

  it('shows the look of the skill, unless the user has one pinned', async () => {
    const pinned = ROSTER['users.yaml'].replace('id: ben,', 'id: ben, pinned_viz: { variant: crystal },');
    const voice = await startVoice({ files: { 'users.yaml': pinned } });
    const ben = await open(voice.url, { key: 'ben-key' });
    await waitFor(async () => (await variantOf(ben.page)) === 'crystal');
    const ada = await open(voice.url, { key: 'ada-key' });
    await waitFor(async () => (await variantOf(ada.page)) === 'fractal');
  });

  describe('for an admin', () => {
    it('reloads files, tells what is there, and what is broken', async () => {
      const voice = await startVoice({ files: ROSTER });
      const { page } = await open(voice.url, { ...DESKTOP, key: 'ada-key' });
      const drawer = await openDrawer(page);
      await drawer.getByRole('tab', { name: 'Admin' }).click();
      voice.put('skills/pirate.yaml', 'name: Pirate');
      await drawer.getByRole('button', { name: 'Reload the skills' }).click();
      await page.getByText('chef, default, pirate').first().waitFor();
      voice.put('skills/pirate.yaml', 'name: [');
      await drawer.getByRole('button', { name: 'Reload the skills' }).click();
      await page.getByText('Skills kept as they were.').first().waitFor();
      await drawer.getByRole('button', { name: 'Reload the users' }).click();
      await page.getByText('ada, ben, cleo').first().waitFor();
      await drawer.getByRole('button', { name: 'Reload the delegates' }).click();
      await page.getByText('Delegates reloaded.').first().waitFor();
    });

    it("sets another user's skill, and says when there is no such user", async () => {
      const voice = await startVoice({ files: ROSTER });
      const { page } = await open(voice.url, { ...PHONE, key: 'ada-key' });
      const drawer = await openDrawer(page);
      await drawer.getByRole('tab', { name: 'Admin' }).click();
      await drawer.getByLabel('User id').fill('nobody');
      await drawer.getByRole('button', { name: 'Set the skill' }).click();
      await page.getByText('unknown user: nobody').first().waitFor();
      await drawer.getByLabel('User id').fill('ben');
      await drawer.getByLabel('Skill of the user').selectOption('default');
      await drawer.getByRole('button', { name: 'Set the skill' }).click();
      await page.getByText('ben gets default, from the next call on.').first().waitFor();
      expect((await voice.get('/api/skills', 'ben-key')).body.assigned).toBe('default');
    });

    it('tries out looks, and gives them as YAML for a skill file', async () => {
      const voice = await startVoice();
      const { page } = await open(voice.url, {
        ...DESKTOP,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const drawer = await openDrawer(page);
      await drawer.getByRole('tab', { name: 'Orb' }).click();
      const yaml = async () => parse((await drawer.locator('pre').textContent()) ?? '').viz;
      await drawer.getByLabel('Variant').selectOption('crystal');
      expect(await yaml()).toEqual({ variant: 'crystal', palette: 'Prism' });
      await drawer.getByRole('button', { name: 'Topaz' }).click();
      await drawer.getByLabel('Dispersion').fill('1.5');
      expect(await yaml()).toEqual({ variant: 'crystal', palette: 'Topaz', params: { dispersion: 1.5 } });
      expect(await variantOf(page)).toBe('crystal');
      await drawer.getByRole('button', { name: 'Copy the code' }).click();
      await drawer.getByText('Copied').waitFor();
      expect(parse(await page.evaluate(() => navigator.clipboard.readText())).viz).toEqual(await yaml());
      await drawer.getByRole('button', { name: 'Deep field' }).click();
      expect(await yaml()).toMatchObject({ variant: 'nebula', palette: 'Andromeda' });
      await drawer.getByRole('button', { name: 'Randomise' }).click();
      expect(await yaml()).toHaveProperty('params');
      await drawer.getByRole('button', { name: 'As the skill has it' }).click();
      expect(await yaml()).toEqual({ variant: 'fractal', palette: 'Aurora' });
    });
  });

  it('can be installed: manifest, icons, and a worker that keeps the files of the page alone', async () => {
    const voice = await startVoice();
    const { page } = await open(voice.url, { serviceWorkers: 'allow' });
    const manifest = await page.evaluate(async () => {
      const link = document.querySelector<HTMLLinkElement>('link[rel=manifest]');
      return (await fetch(link?.href ?? '')).json();
    });
    expect(manifest).toMatchObject({ name: 'Trunkline Voice', display: 'standalone', start_url: '/' });
    for (const { src, type } of manifest.icons) {
      const icon = await fetch(new URL(src, voice.url));
      expect([icon.status, icon.headers.get('content-type')]).toEqual([200, type]);
    }
    await page.evaluate(async () => void (await navigator.serviceWorker.ready));
    await waitFor(() => page.evaluate(() => navigator.serviceWorker.controller !== null));
    await page.reload();
    await orb(page).waitFor();
    const kept = await waitFor(async () => {
      const paths = await page.evaluate(keptPaths);
      return paths.some((path) => path.endsWith('.js')) && paths.includes('/') ? paths : undefined;
    });
    expect(kept.filter((path) => path !== '/' && !path.startsWith('/static/'))).toEqual([]);
    // Also without the service: the page opens and says what is the matter.
    await voice.stop();
    await page.reload();
    await page.getByText('The service does not answer.').first().waitFor();
  });
});

/** A voice that costs nothing: the tests that call are not about its sound, and Kokoro takes seconds to load. */
async function startQuickVoice() {
  const sidecar = await startSidecarServer();
  onTestFinished(() => sidecar.stop());
  return await startVoice({ env: { SIDECAR_URL: sidecar.url, TTS_BACKEND: 'sidecar' } });
}

async function variantOf(page: Page): Promise<string | null> {
  return await page.locator('[data-orb]').first().getAttribute('data-orb');
}

/** Runs in the page. */
async function keptPaths(): Promise<string[]> {
  const names = await caches.keys();
  const kept = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().map(({ url }) => new URL(url).pathname);
}

async function namelessControls(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const roles = ['button', 'link', 'textbox', 'switch', 'combobox', 'slider', 'tab', 'dialog'];
  const nameless = nodes.filter(
    ({ ignored, role, name }) => !ignored && roles.includes(role?.value) && !name?.value,
  );
  return nameless.map(({ role }) => String(role?.value));
}
