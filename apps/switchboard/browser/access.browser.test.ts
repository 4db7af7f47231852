import { describeWithBrowser } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { consolePages } from './pages.suite.ts';

const MOST_SCRIPT = 200_000;
const key = 'the-operator-key';
const sections = [
  'map',
  'feed',
  'flows',
  'questions',
  'schedules',
  'routes',
  'agents',
  'servers',
  'deliveries',
  'incidents',
  'alerts',
  'changes',
  'plugins',
];

describeWithBrowser('with a key set, the console', () => {
  const pages = consolePages(async () => ({ env: { SWITCHBOARD_API_KEY: key } }));

  it('asks for it on a 401, keeps it, and sends it with every call and stream', async () => {
    const { page } = await pages.open('/app#/flows');
    const prompt = page.getByRole('dialog', { name: 'Enter your key' });
    await prompt.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await prompt.getByText('did not accept the last key').waitFor();
    expect(await page.getByText('No flows yet').count()).toBe(0);
    await prompt.getByLabel('Key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByText('No flows yet').waitFor();
    expect(await page.evaluate(() => localStorage.getItem('trunkline.switchboard.key'))).toBe(key);
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(response.url());
    });
    await page.reload();
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    await page.goto(`${pages.service().url}/app#/agents`);
    await page.getByRole('link', { name: 'helm' }).waitFor();
    expect(refused).toEqual([]);
  });

  it.each(sections)('brings less than 200 kB of script: %s', async (section) => {
    const { page } = await pages.open('/healthz');
    await page.evaluate((kept) => localStorage.setItem('trunkline.switchboard.key', kept), key);
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      if (request.resourceType() !== 'script') return;
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await page.goto(`${pages.service().url}/app#/${section}`, { waitUntil: 'load' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(MOST_SCRIPT);
  });

  it('is led by the keyboard, and from the status page', async () => {
    const { page } = await pages.open('/healthz');
    await page.evaluate((kept) => localStorage.setItem('trunkline.switchboard.key', kept), key);
    await page.goto(pages.service().url);
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Routes' }).click();
    await page.getByRole('heading', { name: 'Routes', level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('Incidents');
    await page.getByRole('option', { name: 'Go to Incidents' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Incidents', level: 1 }).waitFor();
    await expect.poll(() => page.url()).toContain('#/incidents');
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Open the command palette').waitFor();
  });
});
