import {
  checkLooks,
  describeWithBrowser,
  loadWire,
  startWireServer,
  type WireServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages, type Page } from './pages.suite.ts';

describeWithBrowser('the chat page over the wire of a gateway', () => {
  let server: WireServer;
  const pages = agentPages(async () => {
    server = await startWireServer({ ...loadWire('ollama/plain'), path: '/v1' });
    const env = { ...modelEnvironment(server.url), LLM_MODEL: 'qwen2.5:7b' };
    return { env, config: 'knowledge: { embeddings: "off" }\n' };
  });
  afterAll(() => server.stop());

  async function say(page: Page, name: string, text = loadWire(name).ask) {
    server.play(loadWire(name));
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.keyboard.press('Enter');
    return page.getByRole('article', { name: 'Turn' }).last();
  }

  it('folds thoughts, runs calls written as text, and says what was compacted and what failed', async () => {
    const opened = await pages.open('/');
    const { page } = opened;
    const thoughtful = await say(page, 'ollama/think-tags');
    await thoughtful.getByText('9.8 is greater.').waitFor();
    expect(await thoughtful.getByText('Compare the tenths').isVisible()).toBe(false);
    await thoughtful.getByText('Thoughts').click();
    await thoughtful.getByText('Compare the tenths').waitFor();
    await checkLooks(opened);

    const calling = await say(page, 'ollama/tool-call-tags-in-text');
    await calling.getByText('It is 5.').waitFor();
    await calling.getByText('Used 1 tool').waitFor();
    expect(await calling.getByText('tool_call').count()).toBe(0);

    for (let number = 0; number < 6; number += 1) {
      const filled = await say(page, 'ollama/plain', `Part ${number}: ${'lorem ipsum dolor '.repeat(220)}`);
      await filled.getByText('Hello there.').waitFor();
    }
    const compacted = await say(page, 'llamacpp/exceed-context');
    await compacted.getByText('We decided.').waitFor();
    await compacted
      .getByText(/summar/i)
      .first()
      .waitFor();

    const failed = await say(page, 'bedrock/detail-words');
    await failed.getByText(/Unsupported model anthropic\.claude-9/).waitFor();
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
