import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  axeViolations,
  checkLooks,
  describeWithBrowser,
  FakeGuild,
  type KeyedSearchServer,
  launchBrowser,
  type ModelServer,
  pdfOf,
  type SearchServer,
  type SpeechServer,
  searchKey,
  startKeyedSearch,
  startModelServer,
  startSearchServer,
  startSpeechServer,
  type TestBrowser,
  type TestPage,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Locked, type Name, names, startLocked } from '../security/security.suite.ts';

const START_LIMIT_MS = 240_000;

describeWithBrowser('the setup', () => {
  let browser: TestBrowser;
  let fleet: Locked;
  let model: ModelServer;
  let search: SearchServer;
  let keyed: KeyedSearchServer;
  let speech: SpeechServer;
  let guild: FakeGuild;
  let opened: TestPage;

  beforeAll(async () => {
    for (const app of names) await ensurePages({ app });
    const page = { path: '/mars', title: 'Mars', text: 'The weather on Mars: dust storms.' };
    [model, search, keyed, speech, guild] = await Promise.all([
      startModelServer({ script: () => 'Hello, and good morning to you.' }),
      startSearchServer({ pages: [page] }),
      startKeyedSearch(),
      startSpeechServer({ speech: [new Uint8Array(4800)] }),
      FakeGuild.start({ sesame: { id: '1', name: 'trunk' } }),
    ]);
    const env = {
      TRUNKLINE_OPEN: '1',
      A2A_AUTH_TOKEN: '',
      RESEARCH_AUTH_TOKEN: '',
      SWITCHBOARD_API_KEY: '',
      SEARXNG_URL: '',
      BRAVE_API_URL: keyed.braveUrl,
      TTS_BACKEND: 'compat',
      TTS_COMPAT_URL: speech.url,
    };
    [browser, fleet] = await Promise.all([
      launchBrowser(),
      startLocked({ env, files: { 'voice/config/users.yaml': 'users: []' } }),
    ]);
    opened = await browser.open(at('agent', '/'), { reducedMotion: 'reduce' });
  }, START_LIMIT_MS);
  afterAll(async () => {
    await browser?.close();
    await fleet?.stop();
    await Promise.all([model?.stop(), search?.stop(), keyed?.stop(), speech?.stop(), guild?.stop()]);
  });
  const at = (name: Name, path: string) => `${fleet.target(name).url}${path}`;
  const settings = () => readFileSync(join(fleet.home, 'settings.yaml'), 'utf8');

  it('is offered on a first visit, and sets a model for all services', async () => {
    const { page } = opened;
    await page.getByRole('region', { name: 'Setup' }).getByRole('link', { name: 'Set up' }).click();
    await page.getByRole('heading', { name: 'Choose a model' }).waitFor();
    await page.getByRole('radio', { name: /Another address/ }).check();
    await page.getByLabel('Address', { exact: true }).fill(model.url);
    await page.getByRole('button', { name: 'List models' }).click();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByText(/Begins after/).waitFor();
    await checkLooks({ ...opened, problems: [] });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('status').filter({ hasText: 'answers' }).first().waitFor();
    const isDemo = async (name: Name) => (await (await fetch(at(name, '/healthz'))).json()).model.demo;
    await expect.poll(() => Promise.all(names.map(isDemo))).toEqual([false, false, false, false]);
    await page.getByRole('button', { name: 'Use the demo model' }).click();
    const goBack = page.getByRole('alertdialog').or(page.getByRole('dialog'));
    await goBack.getByText(/^Go back from .* to the demo model\?$/).waitFor();
    expect(await axeViolations(page, 'dialog')).toEqual([]);
    await goBack.getByRole('button', { name: 'Keep it' }).click();
    await goBack.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(at('voice', '/setup/speech'));
  });

  it('lets a voice be heard and chosen', async () => {
    const { page } = opened;
    await page.goto(at('voice', '/setup/speech'));
    await page.getByLabel('Language').selectOption('British English');
    await page.getByRole('button', { name: 'Hear it' }).click();
    await expect.poll(() => speech.requests.length).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Use this voice' }).click();
    await page.getByText('This voice answers from now on.').waitFor();
    expect(settings()).toContain('INPROC_LANG: b');
    await checkLooks({ ...opened, problems: [] });
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(at('research', '/setup/search'));
  });

  it('tries a search service before it counts', async () => {
    const { page } = opened;
    await page.goto(at('research', '/setup/search'));
    await page.getByLabel('Address', { exact: true }).fill(search.searxngUrl);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('SearXNG answered.').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('SearXNG is searched from now on.').waitFor();
    await page.getByRole('radio', { name: /Brave Search/ }).check();
    await page.getByLabel('API key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Brave Search does not take the key: check BRAVE_API_KEY.').waitFor();
    await page.getByLabel('API key', { exact: true }).fill(searchKey);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Brave Search answered.').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Brave Search is searched from now on.').waitFor();
    expect(settings()).toContain('BRAVE_API_KEY');
    expect(settings()).not.toContain(searchKey);
    await checkLooks({ ...opened, problems: [] });
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(at('switchboard', '/setup/connector'));
  });

  it('connects a product and sends a message there', async () => {
    const { page } = opened;
    await page.goto(at('switchboard', '/setup/connector'));
    await page.getByLabel('Product', { exact: true }).selectOption('Discord');
    await page.getByLabel('CHAT_BOT_TOKEN').fill('wrong');
    await page.locator('summary').click();
    await page.getByLabel('CHAT_API_URL').fill(guild.url);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText(/Discord refuses/).waitFor();
    await page.getByLabel('CHAT_BOT_TOKEN').fill('sesame');
    await page.getByLabel('CHAT_DIGEST_CHANNEL').fill('700000000000000002');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Signed in as trunk.').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Discord is connected.').first().waitFor();
    expect(settings()).not.toContain('sesame');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Sent. Look at Discord.').waitFor();
    expect(guild.posts.map(({ content }) => content)).toEqual([
      'Hello from Trunkline. This is a test message.',
    ]);
    await checkLooks({ ...opened, problems: [] });
    await page.getByRole('button', { name: 'Continue' }).click();
  });

  it('ends on a digest that is written at once and every day, and keeps what was done', async () => {
    const { page } = opened;
    await page.goto(at('switchboard', '/setup/result'));
    await page.getByRole('radio', { name: /A morning digest/ }).check();
    await page.getByRole('link', { name: 'Go on in Agent' }).click();
    await page.getByRole('button', { name: 'Write it now, and every day' }).click();
    await page.getByText('Your morning digest is scheduled.').waitFor();
    const digest = page.getByRole('region', { name: 'Your first digest' });
    await digest.getByText('Hello, and good morning to you.').waitFor();
    const chat = await digest.getByRole('link', { name: 'Open the chat' }).getAttribute('href');
    await checkLooks({ ...opened, problems: [] });
    const asked = JSON.stringify(model.chats().at(-1)?.messages);
    expect(asked).toContain('Write my morning digest. Begin with what is due today');
    const { jobs } = await (await fetch(at('agent', '/api/scheduler/jobs'))).json();
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    expect(jobs).toMatchObject([
      { id: 'morning-digest', schedule: '0 7 * * *', timezone, session_id: 'morning-digest' },
    ]);
    await page.goto(at('agent', chat ?? ''));
    await page.getByRole('main').getByText('Hello, and good morning to you.').first().waitFor();
    const { steps, result } = await (await fetch(at('voice', '/operator/setup'))).json();
    expect(Object.values(steps)).toEqual(['done', 'done', 'done', 'done', 'done']);
    expect(result).toBe('digest');
    await page.goto(at('voice', '/'));
    await page.getByRole('button', { name: 'Start talking' }).first().waitFor();
    expect(await page.getByRole('region', { name: 'Setup' }).count()).toBe(0);
  });

  it('starts a report on a file, and opens voice with the words of a reminder', async () => {
    const { page } = opened;
    await page.goto(at('research', '/setup/result#report'));
    const buffer = Buffer.from(pdfOf('Swarms leave the hive in late spring.'));
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'hives.pdf', mimeType: 'application/pdf', buffer });
    await page.getByRole('button', { name: 'Write the report' }).click();
    await page.waitForURL(/#\/research\//);
    await page.getByText('A report on the file "hives.pdf"').first().waitFor();
    const { files } = await (await fetch(at('research', '/api/files'))).json();
    expect(files).toMatchObject([{ name: 'hives.pdf' }]);
    await page.goto(at('voice', '/setup/result#reminder'));
    await page.getByRole('button', { name: 'Open Voice' }).click();
    const words = page.getByRole('textbox', { name: 'Message' });
    await expect.poll(() => words.inputValue()).toBe('Remind me in two minutes to stretch');
    await page.getByRole('list', { name: 'Try saying' }).waitFor();
    await checkLooks({ ...opened, problems: [] });
  });

  it('shows every setting of a service, and changes one', async () => {
    const { page } = opened;
    await page.goto(at('agent', '/setup/settings'));
    await page.getByRole('searchbox', { name: 'Search' }).fill('scheduler disabled');
    await page.getByRole('button', { name: 'Change SCHEDULER_DISABLED' }).click();
    await page.getByLabel('New value').selectOption('On');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('settings.yaml', { exact: true }).waitFor();
    expect(settings()).toMatch(/SCHEDULER_DISABLED: "?1"?/);
    await checkLooks({ ...opened, problems: [] });
  });
});
