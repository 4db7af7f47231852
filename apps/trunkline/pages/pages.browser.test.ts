import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkLooks,
  describeWithBrowser,
  launchBrowser,
  type TestBrowser,
  type TestPage,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Locked, type Name, names, startLocked } from '../security/security.suite.ts';

const START_LIMIT_MS = 240_000;
const SOON = { timeout: 30_000 };

/** Every page of every service; the pages that all services share are opened at the agent. */
const PAGES: Record<Name, readonly string[]> = {
  // The service with the fewest routes: the page is the same for all, and axe reads every one of them.
  voice: ['/', '/docs', '/setup/speech'],
  agent: [
    '/',
    ...['activity', 'tasks', 'schedules', 'goals', 'board', 'memory', 'notes', 'skills'].map(inConsole),
    ...['helpers', 'connections', 'telemetry', 'audit', 'settings'].map(inConsole),
    ...['people', 'policy', 'audit', 'secrets', 'posture'].map((tab) => `/trust/${tab}`),
    ...['/setup', '/setup/result', '/setup/settings'],
    ...['/help', '/help/quickstart'],
  ],
  research: ['/', '/#/library', '/#/files', '/#/sources', '/setup/search'],
  switchboard: [
    '/',
    ...['map', 'feed', 'flows', 'questions', 'schedules', 'schedules/ceremonies'].map(inConsole),
    ...['agents', 'agents/helm', 'agents/+', 'routes', 'routes/+', 'servers', 'plugins'].map(inConsole),
    ...['deliveries', 'incidents', 'alerts', 'changes'].map(inConsole),
    '/setup/connector',
  ],
};

function inConsole(section: string): string {
  return `/app#/${section}`;
}

/** With some content, as the operator sees it; no rule of axe is broken on a desktop and a phone, in light and dark. */
describeWithBrowser('every page', () => {
  let browser: TestBrowser;
  let fleet: Locked;
  let opened: TestPage;
  const links = new Set<string>();

  beforeAll(async () => {
    for (const app of names) await ensurePages({ app });
    const env = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '' };
    const files = { 'voice/config/users.yaml': 'users: []' };
    [browser, fleet] = await Promise.all([launchBrowser(), startLocked({ env, files })]);
    opened = await browser.open('about:blank', { reducedMotion: 'reduce' });
    await send('agent', '/operator', { key: readFileSync(join(fleet.home, 'operator-key'), 'utf8').trim() });
    await fill();
  }, START_LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await fleet?.stop();
  });

  const at = (name: Name, path: string) => `${fleet.target(name).url}${path}`;

  /** As the page would: with the operator's cookie. */
  async function send(name: Name, path: string, data: object): Promise<void> {
    const headers = { origin: fleet.target(name).url };
    const response = await opened.page.context().request.post(at(name, path), { data, headers });
    expect(response.ok(), `${path}: ${await response.text()}`).toBe(true);
  }

  async function fill(): Promise<void> {
    for (const text of [
      'Remember that my favourite tea is Assam.',
      'Remind me every day at 9 to water the plants',
      'Set a goal: all tests pass',
      'What is 12 * 34?',
    ])
      await send('agent', '/api/chat', { message: text });
    await send('agent', '/api/inbox', { text: 'A parcel is at the door.', source: 'door' });
    await send('agent', '/api/beads/issues', { title: 'Order new chairs', priority: 1 });
    await send('agent', '/operator/accounts', { name: 'Ava', role: 'member' });
    const topic = 'message.inbound.cli';
    await send('switchboard', '/publish', { topic, payload: { content: 'What is 2 + 2?' } });
    await send('switchboard', '/api/incidents', { title: 'Disk full', severity: 'high' });
    await send('switchboard', '/api/schedules', {
      id: 'morning',
      schedule: '0 9 * * *',
      topic,
      payload: { content: 'What is new?' },
    });
    await send('switchboard', '/api/routes', {
      name: 'deploys',
      when: { topic: 'deploy.#' },
      // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
      then: { skill: 'chat' },
    });
    await send('research', '/api/research/deep', { query: 'How do heat pumps work?' });
  }

  describe.each(names)('of %s', (name) => {
    it.each(PAGES[name])('%s breaks no rule of axe', async (path) => {
      const { page } = opened;
      opened.problems.length = 0;
      await page.goto(at(name, path));
      await page.getByRole('main').getByRole('heading').first().waitFor(SOON);
      // Skeletons stand for what is still being loaded.
      await expect.poll(() => page.locator('div.animate-breathe, [role=progressbar]').count(), SOON).toBe(0);
      await checkLooks(opened, { axe: true });
      for (const link of await page.locator('a[href]').evaluateAll(hrefs)) links.add(link);
    });
  });

  it('leads only to pages that are there', async () => {
    const own = [...links].filter((link) => names.some((name) => link.startsWith(at(name, '/'))));
    expect(own.length).toBeGreaterThan(names.length);
    const pages = new Set(own.map((link) => link.replace(/#.*/, '')));
    const missing = await Promise.all(
      [...pages].map(async (link) => {
        const response = await opened.page.context().request.get(link, { headers: { accept: 'text/html' } });
        return response.ok() ? [] : [`${link} ${response.status()}`];
      }),
    );
    expect(missing.flat()).toEqual([]);
  });
});

/** Runs in the page. */
function hrefs(found: Element[]): string[] {
  return found.map((link) => (link as HTMLAnchorElement).href);
}
