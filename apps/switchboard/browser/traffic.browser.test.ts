import {
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  phoneWindow,
  startModelServer,
  type TestPage,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { consolePages } from './pages.suite.ts';

describeWithBrowser('what passes through the switchboard', () => {
  let model: ModelServer;
  const pages = consolePages(async () => {
    model = await startModelServer();
    return { env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'plain-model' } };
  });
  afterAll(() => model.stop());

  const say = async (content: string, more: object = {}): Promise<string> => {
    const { body } = await pages
      .service()
      .call('/publish', { topic: 'message.inbound.cli', payload: { content }, ...more });
    return body.correlationId;
  };

  it('is drawn as a map that lights up along the way of a message', async () => {
    const opened = await pages.open('/app');
    const { page } = opened;
    await page.getByRole('heading', { name: 'Map', level: 1 }).waitFor();
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    const node = (id: string) => page.locator(`[data-node="${id}"]`);
    const line = (from: string, to: string) => page.locator(`[data-line="${from} ${to}"]`);
    await node('agents:warden').waitFor();
    await line('surfaces:cli', 'topics:message.inbound.cli.#').waitFor({ state: 'attached' });
    model.enqueue(
      { toolCalls: [{ name: 'report_incident', arguments: { title: 'Crane', severity: 'low' } }] },
      'The crane is on record.',
    );
    const isLit = (found: ReturnType<typeof node>) => found.and(page.locator('[data-lit]'));
    const seen = Promise.all(
      [
        node('surfaces:cli'),
        line('topics:message.inbound.cli.#', 'agents:warden'),
        node('agents:warden'),
        node('tools:report_incident'),
      ].map((found) => isLit(found).waitFor({ state: 'attached' })),
    );
    // Held back until everything above is watched for.
    await say('There is an outage of the crane');
    await seen;
    await expect.poll(() => node('agents:warden').textContent()).toContain('1');
    await checkLooks(opened);
    await node('agents:warden').click();
    await page.getByRole('heading', { name: 'warden', level: 1 }).waitFor();
  });

  it('is a list of jacks on a phone', async () => {
    const { page, problems } = await pages.open('/app#/map', { viewport: phoneWindow, hasTouch: true });
    for (const name of ['Surfaces', 'Topics', 'Agents', 'Tools'])
      await page.getByRole('region', { name }).getByRole('link').first().waitFor();
    expect(await page.locator('[data-line]').count()).toBe(0);
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Flows' }).click();
    await page.getByRole('heading', { name: 'Flows', level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });

  it('is told as a feed with filters and a pause', async () => {
    const opened = await pages.open('/app#/feed');
    const { page } = opened;
    await page.locator('#content').getByText('Live', { exact: true }).waitFor();
    const rows = (text: string) => page.getByRole('listitem').filter({ hasText: text });
    model.enqueue('Good day.');
    const id = await say('Greetings to the feed');
    await rows('agent.skill.response').first().waitFor();
    await rows('Greetings to the feed').first().getByRole('button').first().click();
    await page.getByRole('link', { name: 'All of this correlation' }).click();
    await expect.poll(() => page.getByLabel('Correlation').inputValue()).toBe(id);
    await page.getByLabel('Topic pattern').fill('message.outbound.#');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => page.getByRole('listitem').filter({ hasText: 'message.' }).count()).toBe(1);
    await rows('Good day.').waitFor();
    await checkLooks(opened);
    await page.goto(`${pages.service().url}/app#/feed/message.%23`);
    await page.getByRole('button', { name: 'Pause' }).click();
    model.enqueue('Later.');
    await say('Held back');
    await page.getByRole('button', { name: /^Resume \(\d+ new\)/ }).waitFor();
    expect(await rows('Held back').count()).toBe(0);
    await page.getByRole('button', { name: /^Resume/ }).click();
    await rows('Held back').waitFor();
    await page.getByLabel('Topic pattern').fill('no.such.topic');
    await page.keyboard.press('Enter');
    await page.getByText('No message fits yet').waitFor();
  });

  it('is told back to the beginning of the journal, page by page, by keyboard', async () => {
    const count = 130;
    const topic = 'message.outbound.attic';
    const publish = (number: number) =>
      pages.service().call('/publish', { topic, payload: { content: `box ${number} of the attic` } });
    await Promise.all(Array.from({ length: count }, (_, number) => publish(number)));
    const opened = await pages.open('/app#/flows');
    const { page } = opened;
    await withHistoryPagesOf(page, 60);
    await page.goto(`${pages.service().url}/app#/feed/${topic}`);
    const boxes = page.getByRole('listitem').filter({ hasText: 'of the attic' });
    await expect.poll(() => boxes.count()).toBeGreaterThanOrEqual(50);
    const more = page.getByRole('button', { name: /^(Show|Loading) more$/ });
    await more.focus();
    await expect
      .poll(
        async () => {
          await page.keyboard.press('Enter');
          return await boxes.count();
        },
        { interval: 20 },
      )
      .toBe(count);
    await more.waitFor({ state: 'detached' });
    const texts = await boxes.allTextContents();
    expect(new Set(texts.map((text) => /box \d+ of/.exec(text)?.[0])).size).toBe(count);
    await publish(count);
    await page.getByText(`box ${count} of the attic`).waitFor();
    expect(await boxes.count()).toBe(count + 1);
    await checkLooks(opened);
  });

  it('shows a flow with its reason, its times and its tools, and asks it again', async () => {
    const opened = await pages.open('/app#/flows');
    const { page } = opened;
    const turn = [{ toolCalls: [{ name: 'get_incidents', arguments: {} }] }, 'All is quiet.'];
    model.enqueue(...turn);
    const id = await say('Any outage today?\n\nThe lamps in the hall went out.');
    const row = page.getByRole('listitem').filter({ hasText: 'Any outage today?' });
    await row.getByText('incidents by warden').waitFor();
    await row.getByRole('link', { name: 'Any outage today? The lamps in the hall went out.' }).click();
    await page.getByRole('heading', { name: 'Any outage today?', level: 1 }).waitFor();
    expect(page.url()).toContain(`#/flows/skill-${id}`);
    const steps = page.getByRole('list', { name: 'Steps' });
    await steps.getByText('Tool get_incidents').waitFor();
    await steps.getByText('completed, answer on message.outbound.cli').waitFor();
    await page
      .getByText(/keyword/i)
      .first()
      .waitFor();
    for (const fact of ['Queue', 'Execute', 'Tokens', 'Cost'])
      await page.getByText(fact, { exact: true }).waitFor();
    await page.getByText(/\d+ in, \d+ out/).waitFor();
    await steps.getByText('All of it').click();
    await steps.getByText('given').waitFor();
    await checkLooks(opened);
    // From the tool on, the model is asked once more alone.
    model.enqueue('Still quiet.');
    await steps.getByRole('button', { name: 'Retry from here: Tool get_incidents' }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    await steps.getByText('completed, answer on message.outbound.cli').waitFor();
    await page.goto(`${pages.service().url}/app#/flows/skill-${id}`);
    await steps.getByText('completed, answer on message.outbound.cli').waitFor();
    model.enqueue(...turn);
    await page.getByRole('button', { name: 'Replay' }).click();
    await expect.poll(() => page.url()).not.toContain(id);
    await steps.getByText('completed, answer on message.outbound.cli').waitFor();
    await page.getByRole('link', { name: 'All flows' }).click();
    await page.getByLabel('State').selectOption('blocked');
    await page.getByText('No flow is in this state').waitFor();
  });

  it('puts questions of agents before people, and takes their answers', async () => {
    const opened = await pages.open('/app#/questions');
    const { page } = opened;
    await page.getByText('Nobody asks anything').waitFor();
    model.enqueue(
      { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which crane?' } }] },
      'The green crane it is.',
    );
    const id = await say('Paint a crane');
    const row = page.getByRole('listitem').filter({ hasText: 'Which crane?' });
    await row.getByLabel('Your answer').waitFor();
    await row.getByRole('link', { name: 'Its flow' }).waitFor();
    expect(await row.innerText()).not.toContain(id);
    await checkLooks(opened);
    await row.getByLabel('Your answer').fill('The green one');
    await row.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Nobody asks anything').waitFor();
    await page.goto(`${pages.service().url}/app#/flows/skill-${id}`);
    await page.getByText('Asks a person').waitFor();
    await page.getByText('Done', { exact: true }).waitFor();
  });
});

/** Has the page ask for fewer messages at a time, so that a short journal has several pages. */
async function withHistoryPagesOf(page: TestPage['page'], limit: number): Promise<void> {
  await page.route('**/api/bus/history?*', (route) => {
    const url = new URL(route.request().url());
    url.searchParams.set('limit', String(limit));
    return route.continue({ url: url.href });
  });
}
