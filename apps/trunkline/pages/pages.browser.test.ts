import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  axeViolations,
  checkLooks,
  describeWithBrowser,
  desktopWindow,
  launchBrowser,
  phoneWindow,
  type TestBrowser,
  type TestPage,
  waitFor,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Locked, type Name, names, startLocked } from '../security/security.suite.ts';
import {
  DIALOGS,
  type DialogPath,
  filesWithDialogs,
  OPENED_ELSEWHERE,
  type PageFacts,
  readFacts,
} from './page-rules.suite.ts';

const START_LIMIT_MS = 240_000;
/** Bytes of script of a page that is no console. */
const MAX_SCRIPT = 220_000;
/** At which a page is as wide as it gets. */
const WIDE = { width: 1800, height: 900 };

/** Every page of every service, `:name` standing for what `fill` has made; the pages that all services share are opened at one. */
const PAGES: Record<Name, readonly string[]> = {
  voice: ['/', '/docs', '/setup/speech'],
  agent: [
    '/',
    '/#/chat/:chat',
    ...['activity', 'tasks', 'tasks/:task', 'schedules', 'goals', 'board', 'memory', 'notes', 'skills'].map(
      inConsole,
    ),
    ...['helpers', 'connections', 'telemetry', 'audit', 'settings'].map(inConsole),
    ...['people', 'policy', 'audit', 'secrets', 'posture'].map((tab) => `/trust/${tab}`),
    ...['/setup', '/setup/result'],
    ...['/help', '/help/quickstart'],
    '/oauth/programs',
  ],
  research: [
    ...[
      '/',
      '/#/library',
      '/#/files',
      '/#/sources',
      '/#/research/:report',
      '/#/chat/:answer',
      '/share/:share',
    ],
    // The service with the fewest settings: the page is the same for all.
    ...['/setup/search', '/setup/settings'],
  ],
  switchboard: [
    '/',
    ...['map', 'feed', 'flows', 'flows/:flow', 'questions', 'schedules', 'schedules/ceremonies'].map(
      inConsole,
    ),
    ...['agents', 'agents/helm', 'agents/+', 'routes', 'routes/+', 'servers', 'plugins'].map(inConsole),
    ...['deliveries', 'incidents', 'alerts', 'changes', 'nodes', 'status'].map(inConsole),
    '/setup/connector',
  ],
};

/** Where the words come late: the page has headings before them. */
const SHOWN: Record<string, string> = {
  '/#/chat/:chat': '12 * 34 = 408',
  '/app#/tasks/:task': '12 * 34 = 408',
  '/#/research/:report': 'The population of Peru',
  '/share/:share': 'The population of Peru',
  '/#/chat/:answer': 'Capital of Peru: Lima',
};

function inConsole(section: string): string {
  return `/app#/${section}`;
}

/** With some content, as the operator sees it; no rule of axe is broken on a desktop in light and a phone in the dark. */
describeWithBrowser('every page', () => {
  let browser: TestBrowser;
  let fleet: Locked;
  let opened: TestPage;
  const links = new Set<string>();
  const made: Record<string, string> = {};
  const frames = new Set<string>();
  const facts = new Map<string, PageFacts>();
  const looked = new Set<string>();
  const bars = new Set<string>();

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

  const at = (name: Name, path: string) =>
    `${fleet.target(name).url}${path.replace(/:([a-z]+)$/, (_, of: string) => made[of] ?? `no ${of}`)}`;

  /** As the page would: with the operator's cookie. */
  async function send(name: Name, path: string, data: object, method = 'POST'): Promise<string> {
    const headers = { origin: fleet.target(name).url };
    const response = await opened.page.context().request.fetch(at(name, path), { data, headers, method });
    const text = await response.text();
    expect(response.ok(), `${path}: ${text}`).toBe(true);
    return text;
  }

  /** What must be alike on all pages, or on none of them. */
  async function readPage(name: Name, path: string): Promise<void> {
    const { page } = opened;
    await page.setViewportSize(WIDE);
    // Guides and the API page show what programs write; a flow and a task have an id to copy.
    const read = await page.evaluate(readFacts, /^\/(docs|help)|(flows|tasks)\/:\w+$/.test(path));
    facts.set(`${name} ${path}`, read);
    const { repeated, inexact, doubled, raw } = read;
    expect({ repeated, inexact, doubled, raw }).toEqual({ repeated: [], inexact: [], doubled: [], raw: [] });
  }

  /** Opens a dialog as a person would, looks at it and leaves it. */
  async function lookAtDialog({ clicks, keys }: DialogPath): Promise<void> {
    const { page } = opened;
    for (const name of clicks) {
      const exact = typeof name === 'string';
      const ways = (['button', 'tab', 'menuitem'] as const).map((role) =>
        page.getByRole(role, { name, exact }),
      );
      await ways
        .reduce((one, other) => one.or(other))
        .filter({ visible: true })
        .first()
        .click();
    }
    if (keys !== undefined) await page.keyboard.press(keys);
    const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'));
    await dialog.first().waitFor();
    await isLoaded();
    expect(await axeViolations(page, 'dialog'), String(clicks)).toEqual([]);
    // The first may close a tooltip.
    await expect
      .poll(async () => {
        await page.keyboard.press('Escape');
        return dialog.count();
      })
      .toBe(0);
  }

  /** Pages of one path share what stands around their content: menu, head and bar at the foot. */
  function isFirstOfItsFrame(url: string): boolean {
    const { origin, pathname } = new URL(url);
    const [, path = ''] = pathname.split('/');
    // The others are packages' pages, the same at every service.
    const frame = ['', 'app', 'share'].includes(path) ? `${origin}/${path}` : path;
    return !frames.has(frame) && frames.add(frame).size > 0;
  }

  /** Skeletons stand for what is still being loaded. */
  async function isLoaded(): Promise<void> {
    const waiting = opened.page.locator('div.animate-breathe, [role=progressbar]');
    await expect.poll(() => waiting.count()).toBe(0);
  }

  async function fill(): Promise<void> {
    for (const text of [
      'Remember that my favourite tea is Assam.',
      'Remind me every day at 9 to water the plants',
      'Set a goal: all tests pass',
    ])
      await send('agent', '/api/chat', { message: text });
    made.chat = 'sums';
    const sum = { message: 'What is 12 * 34?', session_id: made.chat };
    made.task = JSON.parse(await send('agent', '/api/chat', sum)).task_id;
    await send('agent', '/api/inbox', { text: 'A parcel is at the door.', source: 'door' });
    await send('agent', '/api/beads/issues', { title: 'Order new chairs', priority: 1 });
    await send('agent', '/operator/accounts', { name: 'Ava', role: 'member' });
    const skill = { name: 'Tea time', description: 'Makes tea.', body: 'Boil water.' };
    await send('agent', '/api/skills/tea-time', skill, 'PUT');
    const topic = 'message.inbound.cli';
    await send('switchboard', '/publish', { topic, payload: { content: 'What is 2 + 2?' } });
    made.flow = await waitFor(async () => {
      const { data } = await (
        await opened.page.context().request.get(at('switchboard', '/api/flows'))
      ).json();
      return data.flows[0]?.id;
    });
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
    const tides = {
      name: 'tides.md',
      mimeType: 'text/markdown',
      buffer: Buffer.from('# Tides\n\nThe moon pulls.'),
    };
    await opened.page.context().request.post(at('research', '/api/files'), {
      multipart: { file: tides },
      headers: { origin: fleet.target('research').url },
    });
    const query = 'Compare the population of Peru and Chile';
    const { researchId } = JSON.parse(await send('research', '/api/research/deep', { query }));
    made.report = researchId;
    // The events end with the job.
    const events = at('research', `/api/research/deep/${researchId}`);
    await (await opened.page.context().request.get(events, { timeout: START_LIMIT_MS })).text();
    const { share } = JSON.parse(await send('research', `/api/research/deep/${researchId}/share`, {}));
    made.share = share.split('/').at(-1);
    made.answer = 'capital';
    const messages = [{ role: 'user', content: 'What is the capital of Peru?' }];
    await send('research', '/api/chat', { id: made.answer, messages });
  }

  describe.each(names)('of %s', (name) => {
    it.each(PAGES[name])('%s breaks no rule of axe', async (path) => {
      const { page } = opened;
      opened.problems.length = 0;
      await page.goto(at(name, path));
      looked.add(page.url());
      await page.getByRole('main').getByRole('heading').first().waitFor();
      await isLoaded();
      if (SHOWN[path])
        await page.getByRole('main').getByText(SHOWN[path]).filter({ visible: true }).first().waitFor();
      if (path === '/docs') await page.evaluate(openOneOfEachKind);
      const isFirst = isFirstOfItsFrame(page.url());
      await checkLooks(opened, { axe: isFirst ? 'page' : 'content' });
      await readPage(name, path);
      if (isFirst) {
        await page.setViewportSize(phoneWindow);
        const bar = page.getByRole('navigation', { name: 'Services' }).filter({ visible: true });
        for (const each of await bar.all()) bars.add(await each.innerText());
      }
      await page.setViewportSize(desktopWindow);
      await page.emulateMedia({ colorScheme: 'light' });
      for (const link of await page.locator('a[href]').evaluateAll(hrefs)) links.add(link);
      for (const dialog of DIALOGS[path] ?? [])
        if (dialog.file.startsWith(`apps/${name}/`) || dialog.file.startsWith('packages/'))
          await lookAtDialog(dialog);
      const tabs = page.getByRole('main').getByRole('tab');
      // Those of /trust are pages of their own.
      const count = path.startsWith('/trust/') ? 0 : await tabs.count();
      for (let index = 1; index < count; index += 1) {
        await tabs.nth(index).click();
        await isLoaded();
        await checkLooks(opened, { axe: 'tab' });
        looked.add(page.url());
      }
    });
  });

  it('leaves out no page of a menu, no tab with an address, and no dialog', () => {
    const inMenus = [...links].filter((link) => /\/app#\/[a-z]+(\/[a-z-]+)?$/.test(link));
    const isOne = /\/(tasks|flows|agents|routes)\/|\/goals\//;
    expect(inMenus.filter((link) => !looked.has(link) && !isOne.test(link))).toEqual([]);
    const reached = Object.values(DIALOGS).flatMap((paths) => paths.map(({ file }) => file));
    const seen = new Set([...reached, ...Object.keys(OPENED_ELSEWHERE)]);
    const root = join(import.meta.dirname, '../../..');
    expect(filesWithDialogs(root).filter((file) => !seen.has(file))).toEqual([]);
  });

  it('has one width and one left edge', () => {
    const framed = [...facts].flatMap(([page, { frame }]) => (frame ? [{ page, ...frame }] : []));
    const console = framed.filter(({ page }) => /app#|\/trust|\/setup/.test(page));
    expect(console.length).toBeGreaterThan(30);
    expect([...new Set(console.map(({ left }) => left))]).toHaveLength(1);
    // A few, such as the board and the map, take what there is.
    const widths = new Set(console.map(({ width }) => width));
    expect([...widths].sort((one, other) => one - other)).toEqual([1024, WIDE.width - 280]);
  });

  it('has one colour for one state, and one state for one word', () => {
    const states = [...facts.values()].flatMap((page) => page.states);
    const colours = Map.groupBy(states, ({ state }) => state);
    expect(colours.size).toBeGreaterThan(1);
    for (const [state, shown] of colours)
      expect([...new Set(shown.map(({ colour }) => colour))], state).toHaveLength(1);
    for (const [word, shown] of Map.groupBy(states, (each) => each.word))
      expect([...new Set(shown.map(({ state }) => state))], word).toHaveLength(1);
  });

  it('has the same bar at the foot of a phone', () => {
    expect([...bars]).toHaveLength(1);
  });

  it('brings little script', () => {
    // Those of a console come one after the other into one document; its own test measures them.
    const alone = [...facts].filter(([page]) => !page.includes('#'));
    expect(alone.length).toBeGreaterThan(12);
    expect(
      alone
        .filter(([, { scriptBytes }]) => scriptBytes > MAX_SCRIPT)
        .map(([page, { scriptBytes }]) => `${page} ${scriptBytes}`),
    ).toEqual([]);
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

/** Runs in the page: axe reads what is open, and thousands of elements of the same few kinds only take its time. */
function openOneOfEachKind(): void {
  const seen = new Set<string>();
  const kindOf = (element: Element) => `${element.tagName} ${element.getAttribute('class') ?? ''}`;
  for (const operation of document.querySelectorAll('main .op')) {
    for (const details of operation.querySelectorAll('details')) details.setAttribute('open', '');
    const kinds = Array.from(
      operation.querySelectorAll('*'),
      (element) => `${kindOf(element.parentElement ?? element)} > ${kindOf(element)}`,
    );
    if (kinds.every((kind) => seen.has(kind))) {
      document.querySelector(`a[href="#${operation.id}"]`)?.closest('li')?.remove();
      operation.remove();
    }
    for (const kind of kinds) seen.add(kind);
  }
}

/** Runs in the page. */
function hrefs(found: Element[]): string[] {
  return found.map((link) => (link as HTMLAnchorElement).href);
}
