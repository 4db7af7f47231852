import { describeWithBrowser, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { startLines, tone } from '../media/lines.suite.ts';
import { startVoice } from '../voice.suite.ts';
import { captions, orb, type Page, PHONE, says, startCall, withBrowser } from './client.suite.ts';

/** Keeps answers of the service back until they are let go. */
async function holdBack(page: Page, path: string, method: string) {
  const { promise: gate, resolve: letGo } = Promise.withResolvers<void>();
  let held = 0;
  await page.route(path, async (route) => {
    if (route.request().method() !== method) return route.fallback();
    const response = await route.fetch();
    held += 1;
    await gate;
    await route.fulfill({ response });
  });
  return { letGo, isHeld: () => waitFor(() => held > 0) };
}

/** Three attempts that each take as long as they may, with the pauses between them. */
const SEVERAL_ATTEMPTS_MS = 60_000;

describeWithBrowser('a call in which things happen at once', () => {
  const { open } = withBrowser({ microphone: () => tone(0, 48_000, 1) });
  const hangUp = (page: Page) => page.getByRole('button', { name: 'End the call' }).last().click();

  it('that is given up while the service answers leaves no line in use', async () => {
    const { voice } = await startLines({ env: { MAX_CALLS: '1' } });
    const { page } = await open(voice.url, PHONE);
    const answer = await holdBack(page, '**/api/offer', 'POST');
    const left = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await orb(page).click();
    await answer.isHeld();
    await hangUp(page);
    answer.letGo();
    expect((await left).status()).toBe(200);
    await page.unroute('**/api/offer');
    await startCall(page);
  });

  it('that is given up while the loudspeaker is chosen is over', async () => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await page.evaluate(() => {
      localStorage.setItem('trunkline.voice.loudspeaker', 'desk');
    });
    await page.reload();
    await page.evaluate(() => {
      const { promise, resolve } = Promise.withResolvers<void>();
      HTMLMediaElement.prototype.setSinkId = () => promise;
      Object.assign(window, { chosen: resolve });
    });
    await orb(page).click();
    await hangUp(page);
    await page.evaluate(() => Reflect.get(window, 'chosen')());
    await says(page, 'Tap to talk');
    // The next call shows that nothing of the first is left.
    await startCall(page);
    await waitFor(() => lines.length > 0);
    expect(lines).toHaveLength(1);
  });

  it('comes back once, however often the network comes and goes meanwhile', async () => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await startCall(page);
    const servers = await holdBack(page, '**/api/ice', 'GET');
    const offline = (is: boolean) => page.context().setOffline(is);
    await offline(true);
    await says(page, 'You are offline');
    await offline(false);
    await servers.isHeld();
    await offline(true);
    await says(page, 'You are offline');
    await offline(false);
    await says(page, 'Connection lost');
    servers.letGo();
    await says(page, 'Listening');
    await hangUp(page);
    await waitFor(() => lines.every(({ ended }) => ended !== undefined));
    expect(lines).toHaveLength(2);
  });

  it('sends what was typed while an attempt to come back failed', async () => {
    const { voice, lines } = await startLines();
    const { page } = await open(voice.url, PHONE);
    await startCall(page);
    const { promise: gate, resolve: refuse } = Promise.withResolvers<void>();
    let attempts = 0;
    await page.route('**/api/offer', async (route) => {
      if (route.request().method() !== 'POST' || attempts > 0) return route.fallback();
      attempts += 1;
      await gate;
      await route.fulfill({ status: 503, json: { detail: 'Try again later.' } });
    });
    const first = await waitFor(() => lines[0]);
    await waitFor(() => first.told.length > 0);
    first.close('the test cuts the line');
    await waitFor(() => attempts > 0);
    await page.getByLabel('Message').fill('Are you still there?');
    await page.keyboard.press('Enter');
    await captions(page).getByText('Are you still there?').waitFor();
    refuse();
    // On a busy machine the next line may break too: the text arrives on the first that stands, and once.
    const isSent = () => lines.find(({ told }) => told.some(({ type }) => type === 'send-text'));
    const next = await waitFor(isSent, { timeoutMs: SEVERAL_ATTEMPTS_MS }).catch((cause: Error) => {
      const seen = lines.map(({ told, ended }) => ({ told: told.map(({ type }) => type), ended }));
      const logged = voice.lines.map(({ message }) => message);
      throw new Error(`${cause.message} ${JSON.stringify({ seen, logged })}`, { cause });
    });
    const texts = lines.flatMap(({ told }) => told.filter(({ type }) => type === 'send-text'));
    expect(texts.map(({ data }) => data)).toEqual([
      expect.objectContaining({ content: 'Are you still there?' }),
    ]);
    expect(next.told.filter(({ type }) => type === 'client-ready')).toHaveLength(1);
  });

  it.each([
    ['', false],
    [', also where the service has ended it before all candidates have come', true],
  ])('that nobody can answer is not made again and again, and says why%s', async (_, isLate) => {
    const voice = await startVoice({ env: { LLM_URL: 'http://127.0.0.1:9/v1' } });
    const { page } = await open(voice.url, PHONE);
    if (isLate)
      await page.route('**/api/offer', (route) => {
        if (route.request().method() !== 'PATCH') return route.fallback();
        return route.fulfill({ status: 404, json: { detail: 'Peer connection not found' } });
      });
    await orb(page).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The service refused the call.').waitFor();
    await alert.getByText(/LLM_MODEL/).waitFor();
    await says(page, 'Tap to talk');
    expect(voice.lines.filter(({ message }) => message === 'call connected')).toHaveLength(1);
  });

  it('is talked into by holding Enter on the orb', async () => {
    const { voice } = await startLines();
    const { page } = await open(voice.url);
    await page.getByRole('button', { name: 'Push-to-talk is off' }).click();
    await orb(page).click();
    await says(page, 'Hold to talk');
    await orb(page).focus();
    await page.keyboard.down('Enter');
    await page.getByText('Let go when you are done.').waitFor();
    await page.keyboard.up('Enter');
    await says(page, 'Hold to talk');
  });
});
