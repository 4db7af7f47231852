import { describeWithBrowser, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { startLines, tone } from '../media/lines.suite.ts';
import { openDrawer, orb, type Page, says, startCall, withBrowser } from './client.suite.ts';
import { VARIANTS } from './orb/look.ts';

/** Small, since here the processor draws; and wide enough for the drawer beside the orb. */
const WINDOW = { viewport: { width: 1040, height: 420 }, reducedMotion: 'no-preference' } as const;

describeWithBrowser('the orb', () => {
  const { open } = withBrowser({ microphone: () => tone(440, 48_000, 10) });

  const openWatched = async (url: string) => {
    const opened = await open(url, WINDOW);
    await opened.page.addInitScript(watchPictures);
    await opened.page.reload();
    await orb(opened.page).waitFor();
    return opened;
  };

  it('draws few pictures at rest, none out of view, and many in a call', async () => {
    const { voice, line } = await startLines();
    const { page, problems } = await openWatched(voice.url);
    await waitFor(async () => (await seen(page)).pictures > 1);
    const rest = await during(page, 2000);
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThan(14);
    await page.evaluate(show, 'hidden');
    expect(await during(page, 1000)).toBe(0);
    await page.evaluate(show, 'visible');
    await startCall(page);
    await line();
    expect(await during(page, 2000)).toBeGreaterThan(rest * 1.5);
    await page.getByRole('button', { name: 'End the call' }).last().click();
    await says(page, 'Tap to talk');
    await waitFor(async () => (await during(page, 1000)) < 8);
    expect(problems).toEqual([]);
  });

  it('draws all four variants in every state', async () => {
    const { voice, line } = await startLines();
    const { page, problems } = await openWatched(voice.url);
    const drawer = await openDrawer(page);
    await drawer.getByRole('tab', { name: 'Orb' }).click();
    await orb(page).click();
    for (const variant of VARIANTS) {
      await drawer.getByLabel('Variant').selectOption(variant);
      for (const [message, state] of [
        ['bot-llm-started', 'thinking'],
        ['bot-started-speaking', 'speaking'],
        ['bot-stopped-speaking', 'listening'],
      ] as const) {
        const drawn = page.locator(`canvas[data-orb=${variant}][data-state=${state}]`);
        // A page that draws by the processor may be so late with its keepalive that it has to call again.
        await waitFor(
          async () => {
            (await line()).send({ type: message });
            return await drawn.isVisible();
          },
          { intervalMs: 100 },
        );
        const { pictures } = await seen(page);
        await waitFor(async () => (await seen(page)).pictures > pictures + 1);
        // The middle of the ball covers the page.
        expect((await seen(page)).middle[3], `${variant} ${state}`).toBe(255);
      }
    }
    expect(problems).toEqual([]);
  });

  it.each([
    ['for who asked for less motion', { ...WINDOW, reducedMotion: 'reduce' } as const, false],
    ['where WebGL is missing', WINDOW, true],
  ])('is calm and still %s', async (_when, window, withoutWebGl) => {
    const { voice } = await startLines();
    const { page, problems } = await open(voice.url, window);
    if (withoutWebGl) {
      await page.addInitScript(() => {
        HTMLCanvasElement.prototype.getContext = () => null;
      });
      await page.reload();
    }
    const calm = page.locator('div[data-orb=fractal]');
    await calm.waitFor();
    expect(await page.locator('canvas').count()).toBe(0);
    expect(await calm.getAttribute('data-state')).toBe('idle');
    await startCall(page);
    expect(await calm.getAttribute('data-state')).toBe('listening');
    expect(problems).toEqual([]);
  });
});

/** What the page has drawn so far. */
interface Seen {
  pictures: number;
  /** The colour of the middle of the last one. */
  middle: number[];
}

async function seen(page: Page): Promise<Seen> {
  return (await page.evaluate(() => Reflect.get(globalThis, 'seenPictures'))) as Seen;
}

/** How many pictures were drawn while this much of the page's time went by. */
async function during(page: Page, ms: number): Promise<number> {
  const { pictures } = await seen(page);
  const from = await page.evaluate(() => performance.now());
  await page.waitForFunction(([start = 0, span = 0]) => performance.now() - start > span, [from, ms], {
    polling: 50,
  });
  return (await seen(page)).pictures - pictures;
}

/** Runs in the page before anything else: counts pictures and looks at their middle. */
function watchPictures(): void {
  const state: Seen = { pictures: 0, middle: [0, 0, 0, 0] };
  Reflect.set(globalThis, 'seenPictures', state);
  const draw = WebGL2RenderingContext.prototype.drawArrays;
  WebGL2RenderingContext.prototype.drawArrays = function (mode, first, count) {
    draw.call(this, mode, first, count);
    if (mode !== this.TRIANGLES) return;
    state.pictures += 1;
    const pixel = new Uint8Array(4);
    const [x, y] = [this.drawingBufferWidth >> 1, this.drawingBufferHeight >> 1];
    this.readPixels(x, y, 1, 1, this.RGBA, this.UNSIGNED_BYTE, pixel);
    state.middle = [...pixel];
  };
}

/** Runs in the page: as if it were put away, or back. */
function show(state: string): void {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}
