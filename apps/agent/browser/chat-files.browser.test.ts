import {
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  pdfOf,
  silentWav,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('files on the chat page', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return { env: modelEnvironment(model.url), config: 'knowledge: { embeddings: "off" }\n' };
  });
  afterAll(() => model.stop());

  const say = async (page: Page, text: string) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
  };
  const lastTurn = (page: Page) => page.getByRole('article', { name: 'Turn' }).last();
  const toSend = (page: Page) => page.getByRole('list', { name: 'Files to send' });
  const told = () => JSON.stringify(model.chats().at(-1)?.messages.at(-1));
  /** A picture that the browser has drawn itself. */
  const draw = (page: Page) =>
    page.evaluate(async () => {
      const canvas = document.createElement('canvas');
      const pen = canvas.getContext('2d');
      pen?.fillRect(0, 0, 40, 20);
      const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
      return [...new Uint8Array((await blob?.arrayBuffer()) ?? new ArrayBuffer(0))];
    });
  /** Pastes or drops a file, as a browser tells the page of it. */
  const bring = (page: Page, how: 'paste' | 'drop', name: string, type: string, bytes: number[]) =>
    page.getByRole('textbox', { name: 'Message' }).evaluate(
      (field, given) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(given.bytes)], given.name, { type: given.type }));
        const common = { bubbles: true, cancelable: true };
        if (given.how === 'drop')
          field.dispatchEvent(new DragEvent('drop', { ...common, dataTransfer: data }));
        else field.dispatchEvent(new ClipboardEvent('paste', { ...common, clipboardData: data }));
      },
      { how, name, type, bytes },
    );

  it('takes a pasted picture, a dropped document and a sound, and shows them with the message', async () => {
    const opened = await pages.open('/');
    const { page } = opened;
    await bring(page, 'paste', 'shot.png', 'image/png', await draw(page));
    await toSend(page).getByRole('img', { name: 'shot.png' }).waitFor();
    await bring(page, 'drop', 'letter.pdf', 'application/pdf', [...pdfOf('Dear Ada, come at nine.')]);
    await toSend(page).getByText('letter.pdf').waitFor();
    await bring(page, 'drop', 'note.wav', 'audio/wav', [...silentWav()]);
    await toSend(page).getByText('note.wav').waitFor();
    model.enqueue('At nine.');
    await say(page, 'When shall I come?');
    await lastTurn(page).getByText('At nine.').waitFor();
    expect(told()).toContain('data:image/png;base64,');
    expect(told()).toContain('Dear Ada, come at nine.');
    await page.reload();
    const image = lastTurn(page).getByRole('img', { name: 'shot.png' });
    await expect.poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth)).toBe(300);
    const player = lastTurn(page).locator('audio[aria-label="note.wav"]');
    await expect
      .poll(() => player.evaluate((shown) => (shown as HTMLAudioElement).duration))
      .toBeGreaterThan(0);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      lastTurn(page).getByRole('link', { name: 'letter.pdf' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('letter.pdf');
    await checkLooks(opened);
  });

  it('shows a chart that the agent drew', async () => {
    model.enqueue(
      {
        toolCalls: [
          {
            name: 'chart',
            arguments: {
              type: 'bar',
              title: 'Fruit <b>& more</b>',
              labels: ['Pears', '<script>alert(1)</script>'],
              series: [
                { name: 'Sold', values: [3, -1.5] },
                { name: 'Bought', values: [4, null] },
              ],
            },
          },
        ],
      },
      'Pears sell best.',
    );
    const { page } = await pages.open('/');
    await say(page, 'Draw it');
    await lastTurn(page).getByText('Pears sell best.').waitFor();
    const image = lastTurn(page).getByRole('img', { name: 'b& more' });
    await expect.poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth)).toBe(720);
    const picture = Buffer.from(await draw(page)).toString('base64');
    model.enqueue({
      text: 'This one is drawn by the model.',
      images: [`data:image/png;base64,${picture}`],
      citations: [{ url: 'https://pears.example/prices', title: 'Prices of pears' }],
    });
    await say(page, 'And without tools?');
    await page.getByText('drawn by the model').waitFor();
    const drawn = lastTurn(page).getByRole('img', { name: 'image-1.png' });
    await expect.poll(() => drawn.evaluate((shown) => (shown as HTMLImageElement).naturalWidth)).toBe(300);
    const sources = lastTurn(page).getByRole('region', { name: 'Sources' });
    expect(await sources.getByRole('link', { name: 'Prices of pears' }).getAttribute('href')).toBe(
      'https://pears.example/prices',
    );
  });

  it('opens a picture with a script in it without running that', async () => {
    const { page } = await pages.open('/');
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>document.documentElement.setAttribute('data-ran', 'yes')</script></svg>`;
    await page
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'a.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(svg) });
    const shown = toSend(page).getByRole('img', { name: 'a.svg' });
    const url = await shown.getAttribute('src');
    const response = await page.goto(new URL(url ?? '', page.url()).href);
    expect(response?.status()).toBe(200);
    expect(await page.locator('svg').getAttribute('data-ran')).toBeNull();
  });
});
