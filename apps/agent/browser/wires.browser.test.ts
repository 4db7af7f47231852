import { readSse } from '@trunkline/http';
import {
  checkLooks,
  type DoorCase,
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
  type Wire,
  type WireServer,
  waitFor,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatTurn } from '../chats/transcript.ts';
import { applyEvent } from '../chats/turn-events.ts';
import { modelEnvironment, post, startAgent, type TestAgent } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

/** What stands beside the answer begins closed. */
type Looked = ShownTurn & { isFolded: boolean };

describeWithBrowser('the chat page over the wire of a gateway', () => {
  const cases = loadDoorCases('page');
  const sessionOf = (name: string) => name.replace('/', '-');
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
  });
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

  const turns = () => page.getByRole('article', { name: 'Turn' });

  /** Says what was said before the capture, which is played next. */
  async function begin(wire: Wire, session: string): Promise<string[]> {
    await gateway.open(wire);
    const earlier = earlierMessages(wire);
    for (const text of earlier) {
      gateway.fill(wire);
      await say(session, text);
    }
    gateway.play(wire);
    return earlier;
  }

  /** Goes to a conversation with so many turns. */
  async function show(session: string, count: number): Promise<void> {
    await page.evaluate((hash) => {
      window.location.hash = hash;
    }, `#/chat/${session}`);
    await waitFor(async () => (await turns().count()) === count);
  }

  /** What a person sees of each conversation, so many turns long: of its last turn, and the notes of all. */
  async function look(lengths: readonly number[]): Promise<Looked[]> {
    return await turns().evaluateAll((all, counts) => {
      const ends = counts.map((_, index) =>
        counts.slice(0, index + 1).reduce((sum, count) => sum + count, 0),
      );
      return ends.map((end, index) => {
        const shown = all.slice(end - (counts[index] ?? 0), end);
        const blocks = [...(shown.at(-1)?.children ?? [])].slice(1) as HTMLElement[];
        const isNamed = (block: HTMLElement, name: string) =>
          block.querySelector(':scope > summary')?.textContent?.includes(name) === true;
        const textOf = (found: HTMLElement[]) => found.map((block) => block.innerText).join('\n');
        const hidden = blocks.filter((block) => block.tagName === 'DETAILS');
        const failures = blocks.filter((block) => block.querySelector(':scope > [role=alert]') !== null);
        const notes = blocks.filter((block) => block.tagName === 'P');
        // A link until the address of the picture is known.
        const isFile = (block: HTMLElement) =>
          block.matches('a[download]') || block.querySelector('img') !== null;
        const files = blocks.filter(isFile);
        const others = [...hidden, ...failures, ...notes, ...files];
        const answer = blocks.filter((block) => block.tagName === 'DIV' && !others.includes(block));
        const tools = hidden.filter((block) => isNamed(block, 'Used'));
        const failure = textOf(failures);
        return {
          text: textOf(answer),
          ...(failure !== '' && { failure }),
          isFolded: hidden.every((block) => !block.hasAttribute('open')),
          thoughts: hidden
            .filter((block) => isNamed(block, 'Thoughts'))
            .map((block) => block.textContent)
            .join(''),
          runs: tools
            .flatMap((block) => [...block.querySelectorAll('li')])
            .filter((row) => row.textContent?.includes('Done')).length,
          files: files.length,
          notes: shown
            .flatMap((turn) => [...turn.children] as HTMLElement[])
            .filter((block) => block.tagName === 'P')
            .map((block) => block.innerText),
        };
      });
    }, lengths);
  }

  function check({ wire, outcome }: DoorCase, found: Looked | undefined): void {
    if (found === undefined) throw new Error('this capture was not played to its end');
    const { isFolded, ...shown } = found;
    expect(isFolded).toBe(true);
    const { text = '' } = wire.expect;
    // Line ends and fences are for the eye here.
    const seen = { ...shown, text: letters(shown.text) === letters(text) ? text : shown.text };
    expectShown(wire, seen);
    expect(outcomeOf(wire, seen)).toBe(outcome);
  }

  /** The turns of each capture as the service has them in the end. */
  const played = new Map<string, ChatTurn[]>();

  it.each(cases)('makes of the events of $name what the service stores', async ({ name, wire }) => {
    const session = sessionOf(name);
    await begin(wire, session);
    const { turn } = await json<{ turn: ChatTurn }>(`${session}/messages`, post({ text: wire.ask }));
    let streamed = turn;
    const { body } = await agent.fetch(`/api/chat/turns/${turn.task_id}/events`);
    // The stream of a turn that has ended before it is opened stays open: the page closes it, too.
    for await (const { event, data } of readSse(body as AsyncIterable<Uint8Array>)) {
      streamed = applyEvent(streamed, { event, data });
      if (streamed.state !== 'working') break;
    }
    const stored = await json<{ turns: ChatTurn[] }>(session);
    expect(streamed).toEqual(stored.turns.at(-1));
    played.set(name, stored.turns);
  });

  describe('in a browser', () => {
    beforeAll(async () => {
      ({ page } = await browser.open(`${agent.url}/`, { reducedMotion: 'reduce' }));
    });

    /** One capture of each outcome, with and without a history; what the others come to is shown below. */
    const kinds = Map.groupBy(cases, ({ wire, outcome }) => `${outcome} ${wire.history !== undefined}`);
    const watched = [...kinds.values()].flatMap(([first]) => first ?? []);

    it.each(watched)('shows what $name means as it comes: $outcome', async ({ name, wire, outcome }) => {
      const session = `${sessionOf(name)}-watched`;
      const earlier = await begin(wire, session);
      await show(session, earlier.length);
      await page.getByRole('textbox', { name: 'Message' }).fill(wire.ask);
      await page.keyboard.press('Enter');
      await turns().nth(earlier.length).and(page.locator('[aria-busy=false]')).waitFor();
      const [shown] = await look([earlier.length + 1]);
      check({ name, wire, outcome }, shown);
    });

    describe('with the turns of all captures in one conversation', () => {
      let shown: Looked[];
      beforeAll(async () => {
        const all = [...played.values()].flat();
        const body = { chat: null, branch: 'all', model: null, branches: {}, turns: all, next: null };
        await page.route(/\/sessions\/all(\?|$)/, (route) => route.fulfill({ json: body }));
        await show('all', all.length);
        shown = await look([...played.values()].map(({ length }) => length));
      });

      it.each(cases)('shows what $name means: $outcome', (each) => {
        check(each, shown[[...played.keys()].indexOf(each.name)]);
      });
    });
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
