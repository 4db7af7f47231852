import { describeWithBrowser, freePort, waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { startLines, tone } from '../media/lines.suite.ts';
import {
  captions,
  DESKTOP,
  DEVICES,
  openDrawer,
  orb,
  PHONE,
  ROSTER,
  says,
  startCall,
  withBrowser,
} from './client.suite.ts';

describeWithBrowser('a call that meets trouble', () => {
  const { open } = withBrowser({ microphone: () => tone(0, 48_000, 1) });

  it.each(DEVICES)('comes back by itself after the network was gone, on %s', async (_name, device) => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, device);
    await startCall(page);
    const first = await waitFor(() => lines[0]);
    first.send({ type: 'user-transcription', data: { text: 'Before the break', final: true } });
    await captions(page).getByText('Before the break').waitFor();
    await page.context().setOffline(true);
    await says(page, 'You are offline');
    await page.context().setOffline(false);
    await waitFor(() => lines[1]);
    await says(page, 'Listening');
    await captions(page).getByText('Before the break').waitFor();
  });

  it('comes back by itself when the service was started again, and says so meanwhile', async () => {
    const port = String(await freePort());
    const first = await startLines({ env: { PORT: port } });
    const { page } = await open(first.voice.url, PHONE);
    await startCall(page);
    await first.line();
    await first.voice.stop();
    await says(page, 'Connection lost');
    await page.getByText(/Reconnecting, attempt \d/).waitFor();
    const second = await startLines({ env: { PORT: port } });
    await second.line();
    await says(page, 'Listening');
  });

  it('says "Not sent" of a text that the service never took, and Retry sends it', async () => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await startCall(page);
    // The page greets when its channel is open; on a busy machine that may be the second try.
    const first = await waitFor(() => lines.findLast(({ told }) => told.length > 0));
    const type = async (text: string) => {
      await page.getByLabel('Message').fill(text);
      await page.keyboard.press('Enter');
    };
    await type('Taken');
    await waitFor(() => first.told.some(({ type }) => type === 'send-text'));
    first.send({ type: 'user-transcription', data: { text: 'Taken', final: true } });
    first.send({ type: 'user-transcription', data: { text: 'Seen', final: true } });
    await captions(page).getByText('Seen').waitFor();
    await type('Are you there?');
    await waitFor(() => first.told.filter(({ type }) => type === 'send-text').length === 2);
    first.close('the test cuts the line');
    const retry = page.getByRole('alert').getByRole('button', { name: 'Retry' });
    await captions(page)
      .getByRole('listitem')
      .filter({ hasText: 'Are you there?' })
      .getByText('Not sent')
      .waitFor();
    await says(page, 'Listening');
    expect(await retry.count()).toBe(1);
    await retry.click();
    const again = await waitFor(() =>
      lines.find((line) => line !== first && line.told.some(({ type }) => type === 'send-text')),
    );
    const texts = again.told.filter(({ type }) => type === 'send-text');
    expect(texts.map(({ data }) => data)).toEqual([expect.objectContaining({ content: 'Are you there?' })]);
    await retry.waitFor({ state: 'detached' });
  });

  it('says while speech still loads that what is said is kept, and shows a call on hold with a way back', async () => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await startCall(page);
    const opened = await waitFor(() => lines.findLast(({ told }) => told.length > 0));
    const tell = (type: string) => opened.send({ type: 'server-message', data: { type } });
    tell('speech-loading');
    await page.getByText('Loading speech, one moment. What you say is kept.').waitFor();
    tell('speech-ready');
    await page.getByText('Say something. You can break in at any time.').waitFor();
    tell('call-held');
    await says(page, 'On hold');
    await page.getByRole('button', { name: 'Resume the call' }).click();
    const asked = await waitFor(() => opened.told.find(({ type }) => type === 'client-message'));
    expect(asked.data).toEqual({ t: 'resume-call' });
    tell('call-resumed');
    await says(page, 'Listening');
    expect(await page.getByRole('button', { name: 'Resume the call' }).count()).toBe(0);
  });

  it('says what to do where sound does not get through', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url, PHONE);
    // Signalling works; the addresses of the service lead nowhere.
    await page.route('**/api/offer', async (route) => {
      if (route.request().method() !== 'POST') return route.fulfill({ json: { status: 'success' } });
      const response = await route.fetch();
      const answer = await response.json();
      const sdp = String(answer.sdp).replaceAll(/a=candidate:.*\r\n/g, '');
      await route.fulfill({ response, json: { ...answer, sdp } });
    });
    await orb(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Sound does not get through.').waitFor();
    await alert.getByText(/same network.*TURN relay/).waitFor();
    await alert.getByRole('button', { name: 'Try again' }).waitFor();
  });

  it('says so when the service does not answer, and connects once it does', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url);
    await page.route('**/api/**', (route) => route.abort());
    await orb(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The service does not answer.').waitFor();
    await page.unroute('**/api/**');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await says(page, 'Listening');
  });

  it('loads by itself what it could not load while the service was away', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url, DESKTOP);
    let asked = 0;
    await page.route('**/api/whoami', (route) => {
      asked += 1;
      return asked === 1 ? route.abort() : asked === 2 ? route.fulfill({ status: 503 }) : route.fallback();
    });
    await page.reload();
    const drawer = await openDrawer(page);
    await drawer.getByLabel('Verbosity').waitFor();
    await drawer.getByRole('tab', { name: 'Orb' }).click();
    await drawer.getByText('For the skill file').waitFor();
    expect(asked).toBe(3);
  });

  it('passes on why the service refuses a call, and calls back when a line is free', async () => {
    const { voice } = await startLines({ env: { MAX_CALLS: '1' } });
    const other = await open(voice.url);
    await startCall(other.page);
    const { page } = await open(voice.url);
    await orb(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText('All 1 lines are in use.').waitFor();
    await alert.getByRole('button', { name: 'Call me back' }).click();
    await alert.getByText('Waiting for a line. Keep this page open: it rings.').waitFor();
    await other.page.getByRole('button', { name: 'End the call' }).last().click();
    await alert.getByText('A line is free for you.').waitFor();
    // Who calls now comes after the one who waited.
    await orb(other.page).click();
    await other.page.getByRole('alert').getByText('kept for somebody').waitFor();
    await alert.getByRole('button', { name: 'Answer' }).click();
    await says(page, 'Listening');
  });

  it.each([
    ['in a voice of the device', 'en-US', ['All lines are busy. Let the page call you back']],
    ['with the busy tone where the device has no voice that speaks English', 'de-DE', ['480', '620']],
    ['with the busy tone where the device refuses to speak', 'en-US refused', ['All lines', 'silent', '480']],
    [
      'with the busy tone where the device does not begin to speak',
      'en-US mute',
      ['All lines', 'silent', '480'],
    ],
    [
      'in a voice of the device, and frees the loudspeaker where that is cut off',
      'en-US interrupted',
      ['All lines', 'silent', 'closed'],
    ],
  ])('tells a caller who is refused so aloud, %s', async (_how, device, heard) => {
    const { voice } = await startLines({ env: { MAX_CALLS: '1' } });
    const other = await open(voice.url);
    await startCall(other.page);
    const { page } = await open(voice.url);
    await page.evaluate(installDeviceVoices, device);
    await orb(page).click();
    await page.getByRole('alert').getByText('All 1 lines are in use.').waitFor();
    const sounds = () => page.evaluate(() => Reflect.get(globalThis, 'sounds') as string[]);
    await waitFor(async () => (await sounds()).length >= heard.length);
    for (const [index, start] of heard.entries())
      expect((await sounds())[index]?.startsWith(start), (await sounds()).join()).toBe(true);
    const tones = (await sounds()).filter((sound) => sound === '480');
    expect(tones).toHaveLength(heard.includes('480') ? 4 : 0);
    // Who asks to be called back has heard enough.
    await page.getByRole('button', { name: 'Call me back' }).click();
    await waitFor(async () => (await sounds()).slice(-2).toSorted().join() === 'closed,silent');
  });

  it.each([
    ['NotFoundError', 'No microphone was found.', 'Plug one in'],
    ['NotAllowedError', 'The microphone is not allowed.', 'Allow the microphone in the settings of the page'],
    ['NotReadableError', 'The microphone cannot be opened.', 'Close the other program'],
  ])('has words for %s, and lets the caller type', async (name, what, todo) => {
    const { voice, line } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await page.evaluate((kind) => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', kind));
    }, name);
    await orb(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText(what).waitFor();
    await alert.getByText(todo).waitFor();
    await alert.getByRole('button', { name: 'Type instead' }).click();
    await says(page, 'Connected');
    await line();
  });

  it('says why an insecure page has no microphone', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url);
    await page.evaluate(() => Object.defineProperty(navigator, 'mediaDevices', { value: undefined }));
    await orb(page).click();
    await page
      .getByRole('alert')
      .getByText(/over https, or at http:\/\/localhost/)
      .waitFor();
  });

  it('says that it waits for leave while the browser asks', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url);
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined);
    });
    await orb(page).click();
    await says(page, 'Allow the microphone');
    await page.getByRole('button', { name: 'End the call' }).last().click();
    await says(page, 'Tap to talk');
  });

  it.each([
    [
      'is degraded',
      { status: 'degraded', missing: [{ what: 'Speech', hint: 'Start the sidecar.' }] },
      'The service is degraded. Speech: Start the sidecar.',
    ],
    [
      'speaks with another voice',
      { status: 'ok', speech: { warnings: ['the sidecar does not speak'] } },
      'Speech is not at its best. the sidecar does not speak',
    ],
  ])('tells of a service that %s, until that is put away', async (_how, health, words) => {
    const { voice } = await startLines();
    const { page } = await open(voice.url);
    await page.route('**/healthz', (route) => route.fulfill({ json: health }));
    await page.reload();
    const notice = page.getByRole('status').filter({ hasText: words });
    await notice.getByRole('button', { name: 'Dismiss' }).click();
    await notice.waitFor({ state: 'detached' });
  });

  describe('without a key', () => {
    it.each(DEVICES)(
      'asks for one, says when it is refused, and keeps the right one, on %s',
      async (_name, device) => {
        const { voice } = await startLines({ files: ROSTER });
        const { page } = await open(voice.url, device);
        const prompt = page.getByRole('dialog', { name: 'Enter your key' });
        await prompt.getByLabel('Key').fill('wrong');
        await page.keyboard.press('Enter');
        await prompt.getByText('did not accept the last key').waitFor();
        await prompt.getByLabel('Key').fill('cleo-key');
        await page.keyboard.press('Enter');
        await prompt.waitFor({ state: 'detached' });
        await startCall(page);
        await page.reload();
        await page.getByRole('main').locator('header').getByText('Default').waitFor();
        expect(await prompt.count()).toBe(0);
      },
    );

    it('says so when the caller would rather not give one', async () => {
      const { voice } = await startLines({ files: ROSTER });
      const { page } = await open(voice.url, DESKTOP);
      const prompt = page.getByRole('dialog', { name: 'Enter your key' });
      await prompt.waitFor();
      await page.keyboard.press('Escape');
      await prompt.waitFor({ state: 'detached' });
      await orb(page).click();
      await prompt.waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('alert').getByText('You are not signed in.').waitFor();
    });
  });
});

/** Runs in the page: a device with voices of these languages; `sounds` lists what it says and the pitches that it plays. */
function installDeviceVoices(device: string): void {
  const sounds: string[] = [];
  Reflect.set(globalThis, 'sounds', sounds);
  const [lang = '', fault] = device.split(' ');
  let spoken: EventTarget | undefined;
  const speech = {
    getVoices: () => [
      { lang: 'en-US', localService: false, default: true },
      { lang, localService: true, default: false },
    ],
    speak: (utterance: EventTarget & { words: string }) => {
      sounds.push(utterance.words);
      spoken = utterance;
      if (fault === undefined || fault === 'interrupted') utterance.dispatchEvent(new Event('start'));
      if (fault === 'refused' || fault === 'interrupted') utterance.dispatchEvent(new Event('error'));
    },
    cancel: () => {
      if (sounds.length > 0) sounds.push('silent');
      // As some browsers do.
      const cancelled = spoken;
      spoken = undefined;
      cancelled?.dispatchEvent(new Event('error'));
    },
    addEventListener: () => undefined,
  };
  Object.defineProperty(globalThis, 'speechSynthesis', { value: speech });
  const Utterance = class extends EventTarget {
    words: string;
    constructor(words: string) {
      super();
      this.words = words;
    }
  };
  Object.defineProperty(globalThis, 'SpeechSynthesisUtterance', { value: Utterance });
  const start = OscillatorNode.prototype.start;
  OscillatorNode.prototype.start = function (when?: number) {
    sounds.push(String(this.frequency.value));
    start.call(this, when);
  };
  // Tones go on until somebody ends them.
  OscillatorNode.prototype.stop = () => undefined;
  // As in Safari, only what was opened in a click sounds.
  let isClicked = false;
  document.addEventListener(
    'click',
    () => {
      isClicked = true;
      queueMicrotask(() => setTimeout(() => (isClicked = false)));
    },
    { capture: true },
  );
  const Context = AudioContext;
  Object.defineProperty(globalThis, 'AudioContext', {
    value: class extends Context {
      readonly isHeard = isClicked;
      override createOscillator(): OscillatorNode {
        if (!this.isHeard) throw new Error('a tone outside of a click');
        return super.createOscillator();
      }
      override close(): Promise<void> {
        if (sounds.length > 0) sounds.push('closed');
        return super.close();
      }
    },
  });
}
