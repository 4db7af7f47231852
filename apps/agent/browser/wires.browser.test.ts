import {
  checkLooks,
  type DoorGateway,
  describeWithBrowser,
  earlierMessages,
  expectShown,
  launchBrowser,
  loadDoorCases,
  loadWire,
  outcomeOf,
  type ShownTurn,
  startDoorGateway,
  startWireServer,
  type TestBrowser,
  temporaryDirectory,
  type WireServer,
  waitFor,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('the chat page over the wire of a gateway', () => {
  const home = temporaryDirectory();
  let gateway: DoorGateway;
  let agent: TestAgent;
  let browser: TestBrowser;
  /** One for all, as opening a page takes longer than a turn. */
  let page: Page;
  beforeAll(async () => {
    await ensurePages({ app: 'agent' });
    gateway = await startDoorGateway(home.path);
    const config = 'subagents: []\nknowledge: { embeddings: "off" }\n';
    [browser, agent] = await Promise.all([launchBrowser(), startAgent({ home: home.path, config })]);
    ({ page } = await browser.open(`${agent.url}/`, { reducedMotion: 'reduce' }));
  }, 180_000);
  afterAll(async () => {
    await browser.close();
    await agent.stop();
    await gateway.server.stop();
    home.remove();
  });

  async function json<Body>(path: string, init?: RequestInit): Promise<Body> {
    return (await (await agent.fetch(`/api/chat/sessions/${path}`, init)).json()) as Body;
  }

  /** Says something in a conversation as the page does, and waits for the end of the turn. */
  async function say(session: string, text: string): Promise<void> {
    const { task_id } = await json<{ task_id: string }>(`${session}/messages`, post({ text }));
    await waitFor(async () => {
      const { turns } = await json<{ turns: { task_id: string; state: string }[] }>(session);
      return turns.some((turn) => turn.task_id === task_id && turn.state === 'completed');
    });
  }

  const letters = (text: string) => text.replace(/[\s`]+/g, '');

  /** What a person sees of the last turn, and the notes of all. */
  async function look(): Promise<ShownTurn> {
    const turn = page.getByRole('article', { name: 'Turn' }).last();
    const seen = await turn.evaluate((article) => {
      const blocks = [...article.children].slice(1) as HTMLElement[];
      const isNamed = (block: HTMLElement, name: string) =>
        block.querySelector(':scope > summary')?.textContent?.includes(name) === true;
      const textOf = (found: HTMLElement[]) => found.map((block) => block.innerText).join('\n');
      const hidden = blocks.filter((block) => block.tagName === 'DETAILS');
      const failures = blocks.filter((block) => block.querySelector(':scope > [role=alert]') !== null);
      const notes = blocks.filter((block) => block.tagName === 'P');
      const files = blocks.filter((block) => block.querySelector('img, a[download]') !== null);
      const others = [...hidden, ...failures, ...notes, ...files];
      const answer = blocks.filter((block) => block.tagName === 'DIV' && !others.includes(block));
      const tools = hidden.filter((block) => isNamed(block, 'Used'));
      return {
        text: textOf(answer),
        failure: textOf(failures),
        isFolded: hidden.every((block) => !block.hasAttribute('open')),
        thoughts: hidden
          .filter((block) => isNamed(block, 'Thoughts'))
          .map((block) => block.textContent)
          .join(''),
        runs: tools
          .flatMap((block) => [...block.querySelectorAll('li')])
          .filter((row) => row.textContent?.includes('Done')).length,
        files: files.length,
      };
    });
    const { failure, isFolded, ...shown } = seen;
    expect(isFolded).toBe(true);
    const notes = await page.getByRole('article', { name: 'Turn' }).locator('> p').allInnerTexts();
    return { ...shown, notes, ...(failure !== '' && { failure }) };
  }

  it.each(loadDoorCases('page'))('shows what $name means: $outcome', async ({ name, wire, outcome }) => {
    await gateway.open(wire);
    const session = name.replace('/', '-');
    const earlier = earlierMessages(wire);
    for (const text of earlier) {
      gateway.fill(wire);
      await say(session, text);
    }
    gateway.play(wire);
    await page.evaluate((hash) => {
      window.location.hash = hash;
    }, `#/chat/${session}`);
    const turns = page.getByRole('article', { name: 'Turn' });
    await expect.poll(() => turns.count()).toBe(earlier.length);
    await page.getByRole('textbox', { name: 'Message' }).fill(wire.ask);
    await page.keyboard.press('Enter');
    await turns.nth(earlier.length).and(page.locator('[aria-busy=false]')).waitFor();
    const { text = '' } = wire.expect;
    const shown = await look();
    // Line ends and fences are for the eye here.
    const seen = { ...shown, text: letters(shown.text) === letters(text) ? text : shown.text };
    expectShown(wire, seen);
    expect(outcomeOf(wire, seen)).toBe(outcome);
  });
});

describeWithBrowser('the chat page and a model that begins within its thoughts', () => {
  const wire = loadWire('sglang/long-open-thoughts');
  let server: WireServer;
  const pages = agentPages(async () => {
    server = await startWireServer(wire);
    const env = { ...modelEnvironment(server.url), LLM_MODEL: wire.model };
    return { env, config: 'knowledge: { embeddings: "off" }\n' };
  });
  afterAll(() => server.stop());

  it('shows the thoughts while they come to whoever unfolds them', async () => {
    const opened = await pages.open('/');
    const { page } = opened;
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    server.play(wire, { silence: () => goOn });
    await page.getByRole('textbox', { name: 'Message' }).fill(wire.ask);
    await page.keyboard.press('Enter');
    const turn = page.getByRole('article', { name: 'Turn' }).last();
    await turn.getByText('Thinking…').click();
    await turn.getByText('easily misread as versions').waitFor();
    await checkLooks(opened);
    resolve();
    await turn.getByText('9.8 is greater.').waitFor();
    const end = turn.getByText('so 9.8 wins');
    await end.waitFor();
    await turn.getByText('Thoughts').click();
    await end.waitFor({ state: 'hidden' });
  });
});
