import { describeWithBrowser, launchBrowser, type TestBrowser } from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

const MAX_SCRIPT = 200_000;
const token = 'the-operator-token';
const quiet = 'knowledge: { embeddings: "off" }';

describeWithBrowser('with a token set, the pages', () => {
  const pages = agentPages(async () => ({ env: { A2A_AUTH_TOKEN: token }, config: quiet }));

  const watched = (page: Page) => {
    const calls: { path: string; bearer: string | undefined; status: number }[] = [];
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      const bearer = response.request().headers().authorization;
      if (pathname.startsWith('/api/')) calls.push({ path: pathname, bearer, status: response.status() });
    });
    return calls;
  };

  it('are served, hold nothing private, and ask for the token on a 401 [A150]', async () => {
    const { page } = await pages.open('/app#/tasks');
    const prompt = page.getByRole('dialog', { name: 'Enter your key' });
    await prompt.getByLabel('Key').fill('wrong');
    await page.keyboard.press('Enter');
    await prompt.getByText('did not accept the last key').waitFor();
    expect(await page.getByText('No tasks yet').count()).toBe(0);
    await prompt.getByLabel('Key').fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('No tasks yet').waitFor();
    expect(await page.evaluate(() => localStorage.getItem('core.authToken'))).toBe(token);
  });

  it('read the token from core.authToken and send it as a bearer with every call [A150]', async () => {
    const { page } = await pages.open('/healthz');
    await page.evaluate((kept) => localStorage.setItem('core.authToken', kept), token);
    const calls = watched(page);
    await page.goto(`${pages.agent().url}/`);
    await page.getByRole('textbox', { name: 'Message' }).fill('What is 12 * 34?');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('article', { name: 'Turn' }).textContent()).toContain('408');
    await page.goto(`${pages.agent().url}/app#/memory`);
    await page.getByText('Nothing is remembered yet').waitFor();
    expect(calls.length).toBeGreaterThan(5);
    expect(calls.filter(({ bearer }) => bearer !== `Bearer ${token}`)).toEqual([]);
    expect(calls.filter(({ status }) => status === 401)).toEqual([]);
  });

  it('give out no more without it than any stranger may see [A150]', async () => {
    for (const path of [
      '/api/chat/sessions',
      '/api/tasks',
      '/api/activity',
      '/api/live',
      '/api/config',
      '/api/audit',
    ]) {
      expect((await pages.agent().fetch(path)).status, path).toBe(401);
    }
    for (const path of ['/', '/app']) {
      const response = await pages.agent().fetch(path);
      expect([response.status, (await response.text()).includes(token)], path).toEqual([200, false]);
    }
  });
});

describeWithBrowser('each page', () => {
  const pages = agentPages(async () => ({ config: quiet }));
  const sections = [
    ...['activity', 'tasks', 'schedules', 'goals', 'board', 'memory', 'notes', 'skills', 'helpers'],
    ...['connections', 'telemetry', 'audit', 'settings'],
  ];

  it.each(['/', ...sections.map((section) => `/app#/${section}`)])(
    `brings less than ${MAX_SCRIPT / 1000} kB of script: %s`,
    async (path) => {
      const { page } = await pages.open('/healthz');
      const sizes: Promise<number>[] = [];
      page.on('requestfinished', (request) => {
        if (request.resourceType() !== 'script') return;
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
      });
      await page.goto(`${pages.agent().url}${path}`, { waitUntil: 'load' });
      await page.getByRole('heading', { level: 1 }).waitFor();
      const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      expect(total).toBeGreaterThan(50_000);
      expect(total).toBeLessThan(MAX_SCRIPT);
    },
  );
});

describeWithBrowser('a page out of view', () => {
  const pages = agentPages(async () => ({ config: quiet }));

  it('gives its streams back after a while, and is up to date when it is seen again', async () => {
    const { page } = await pages.open('/healthz');
    await page.clock.install();
    await page.goto(`${pages.agent().url}/app#/board`);
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    const turn = (visible: boolean) =>
      page.evaluate((shown) => {
        Object.defineProperty(document, 'visibilityState', {
          value: shown ? 'visible' : 'hidden',
          configurable: true,
        });
        document.dispatchEvent(new Event('visibilitychange'));
      }, visible);
    await turn(false);
    await page.clock.runFor(30_000);
    await page.getByText('Connecting', { exact: true }).waitFor();
    await pages.agent().fetch('/api/beads/issues', post({ title: 'Meanwhile' }));
    await page.clock.runFor(5_000);
    expect(await page.getByText('Meanwhile').count()).toBe(0);
    await turn(true);
    await page.getByText('Meanwhile').waitFor();
  });
});

describeWithBrowser('the tiers', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    await ensurePages({ app: 'agent' });
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  describe.each(['console', 'none'])('%s', (tier) => {
    let agent: TestAgent;
    beforeAll(async () => {
      const env = {
        CORE_UI: tier,
        LLM_GATEWAY_URL: 'http://127.0.0.1:9/v1',
        LLM_API_KEY: 'key',
        LLM_MODEL: 'm',
      };
      agent = await startAgent({ env, config: quiet });
    });
    afterAll(() => agent.stop());

    it('serves what it should and no more [A003]', async () => {
      const served = async (path: string) => (await agent.fetch(path)).status === 200;
      expect([await served('/'), await served('/app')]).toEqual([false, tier === 'console']);
    });

    it('leads nowhere that is not served', async () => {
      if (tier === 'none') return;
      const { page, close } = await browser.open(`${agent.url}/app`);
      await page.getByText('Nothing has run on its own yet').waitFor();
      const links = page.getByRole('navigation', { name: 'Sections' }).first().getByRole('link');
      await expect.poll(() => links.allTextContents()).not.toContain('Chat');
      await close();
    });
  });
});
