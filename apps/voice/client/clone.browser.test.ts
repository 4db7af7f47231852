import { describeWithBrowser, startSidecarServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { tone } from '../media/lines.suite.ts';
import { lengthOf } from '../speech/audio/samples.ts';
import { decodeWav } from '../speech/audio/wav.ts';
import { startVoice } from '../voice.suite.ts';
import { openDrawer, PHONE, withBrowser } from './client.suite.ts';

describeWithBrowser('cloning a voice', () => {
  const { open } = withBrowser({ microphone: () => tone(440, 48_000, 10) });

  it('records in the page, shows the level, and uploads what the service can read', async () => {
    const sidecar = await startSidecarServer();
    onTestFinished(() => sidecar.stop());
    const voice = await startVoice({ env: { SIDECAR_URL: sidecar.url, TTS_BACKEND: 'sidecar' } });
    const { page, problems } = await open(voice.url, PHONE);
    const drawer = await openDrawer(page);
    await drawer.getByText('Clone a voice').click();
    const submit = drawer.getByRole('button', { name: 'Clone this voice' });
    expect(await submit.isDisabled()).toBe(true);
    await drawer.getByRole('button', { name: 'Record' }).click();
    // Less than ten seconds are not taken.
    await drawer.getByRole('button', { name: /s more$/, disabled: true }).waitFor();
    const level = () => drawer.locator('meter').evaluate((meter) => (meter as HTMLMeterElement).value);
    await expect.poll(level).toBeGreaterThan(0.3);
    await drawer.getByRole('button', { name: 'Stop' }).click();
    await drawer.getByLabel('Your recording').waitFor();
    await drawer.getByLabel('Name of the voice').fill('Night Owl');
    await drawer.getByText('Saved as night-owl.').waitFor();
    await drawer.getByLabel('What is said in it').fill('On clear evenings');
    await submit.click();
    await page.getByText('Night Owl can speak now.').first().waitFor();

    const saved = sidecar.references.get('night-owl');
    expect(saved?.text).toBe('On clear evenings');
    const seconds = lengthOf(decodeWav(saved?.audio ?? new Uint8Array()));
    expect(seconds).toBeGreaterThanOrEqual(10);
    expect(seconds).toBeLessThanOrEqual(30);
    // The new skill can be chosen at once.
    await drawer.getByLabel('Skill').selectOption('night-owl');
    expect(problems).toEqual([]);
  });

  it('lets the microphone go that it got after the drawer was closed, or that was asked for twice', async () => {
    const sidecar = await startSidecarServer();
    onTestFinished(() => sidecar.stop());
    const voice = await startVoice({ env: { SIDECAR_URL: sidecar.url, TTS_BACKEND: 'sidecar' } });
    const { page } = await open(voice.url, PHONE);
    await page.evaluate(() => {
      const devices = navigator.mediaDevices;
      const ask = devices.getUserMedia.bind(devices);
      const { promise, resolve } = Promise.withResolvers<void>();
      const streams: MediaStream[] = [];
      devices.getUserMedia = async (wish) => {
        await promise;
        const stream = await ask(wish);
        streams.push(stream);
        return stream;
      };
      Object.assign(window, { allow: resolve, streams });
    });
    const drawer = await openDrawer(page);
    await drawer.getByText('Clone a voice').click();
    await drawer.getByRole('button', { name: 'Record' }).dblclick();
    await drawer.getByText('Clone a voice').click();
    await page.evaluate(() => Reflect.get(window, 'allow')());
    const states = () =>
      page.evaluate(() =>
        (Reflect.get(window, 'streams') as MediaStream[]).flatMap((stream) =>
          stream.getTracks().map(({ readyState }) => readyState),
        ),
      );
    await expect.poll(states).toEqual(['ended']);
  });

  it('says why a voice cannot be cloned', async () => {
    const sidecar = await startSidecarServer();
    onTestFinished(() => sidecar.stop());
    const voice = await startVoice({ env: { SIDECAR_URL: sidecar.url, TTS_BACKEND: 'sidecar' } });
    const { page } = await open(voice.url);
    const drawer = await openDrawer(page);
    await drawer.getByText('Clone a voice').click();
    await drawer
      .locator('input[type=file]')
      .setInputFiles({ name: 'x.wav', mimeType: 'audio/wav', buffer: Buffer.from('no sound') });
    await drawer.getByLabel('Name of the voice').fill('Chef');
    await drawer.getByRole('button', { name: 'Clone this voice' }).click();
    await drawer.getByRole('alert').getByText("slug 'chef' already exists").waitFor();

    const plain = await startVoice({ env: { TTS_BACKEND: 'inprocess' } });
    const other = await open(plain.url);
    const second = await openDrawer(other.page);
    await second.getByText('Clone a voice').click();
    await second.getByText('Set TTS_BACKEND=sidecar on the service').waitFor();
  });
});
