import {
  axeViolations,
  checkLooks,
  describeWithBrowser,
  type ModelServer,
  mcpProgram,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment, post, type TestAgent } from '../fixtures/start-agent.ts';
import { agentPages } from './pages.suite.ts';

const config = async (agent: TestAgent) =>
  (await (await agent.fetch('/api/config')).json()) as { text: string };

describeWithBrowser('an agent without a model', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer({ apiKey: 'the-key', models: ['small', 'large'] });
    return { config: '# my own words\nknowledge: { embeddings: "off" }\n' };
  });
  afterAll(() => model.stop());

  it('sets it up by a wizard that tests the model and lists what there is', async () => {
    const opened = await pages.open('/app#/settings');
    const { page } = opened;
    await page.getByText('Not set up yet').waitFor();
    await page.getByLabel('Address', { exact: true }).fill('nonsense');
    await page.getByText('Give a whole address').waitFor();
    await page.getByLabel('Address', { exact: true }).fill(model.url);
    await page.getByLabel('Key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText('It does not answer').waitFor();
    await page.getByLabel('Key', { exact: true }).fill('the-key');
    await page.getByRole('button', { name: 'Test the connection' }).click();
    await page.getByText('It answers with 2 models').waitFor();
    await page.getByRole('combobox', { name: 'Model' }).selectOption('large');
    await checkLooks(opened);
    await page.getByRole('button', { name: 'Use this model' }).click();
    await page.getByText('The model is set up.').first().waitFor();
    await page.getByRole('tabpanel', { name: 'Model' }).getByText('Set up', { exact: true }).waitFor();
    await expect.poll(async () => (await config(pages.agent())).text).toContain(model.url);
    expect((await config(pages.agent())).text).not.toContain('the-key');
    expect((await config(pages.agent())).text).toContain('# my own words');
    model.enqueue('I am the large one.');
    await expect
      .poll(async () => JSON.stringify(await (await pages.agent().fetch('/healthz')).json()))
      .toContain('"large"');
    await pages.agent().send('Who are you?');
    expect(model.chats().at(-1)?.model).toBe('large');
  });

  it('tries what the model can do, and saves it for all services', async () => {
    for (const answer of ['OK', 'It rains.', 'Red.']) model.enqueue(answer);
    const opened = await pages.open('/app#/settings');
    const { page } = opened;
    await page.getByRole('button', { name: 'Try it (costs a few hundred tokens)' }).click();
    await page.getByText('sees images', { exact: true }).waitFor();
    await page.getByText('did not call the tool').waitFor();
    await page.getByLabel('Context window').fill('16384');
    await page.getByRole('combobox', { name: 'Tools', exact: true }).selectOption('prompted');
    await page.getByLabel('Output limit').fill('2048');
    await page.getByLabel('Reasoning').selectOption('open');
    await page.getByLabel('Tool calls written as text').selectOption('true');
    await page.getByLabel('Omitted parameters').fill('seed, top_p');
    await page.getByRole('spinbutton', { name: 'Loading' }).fill('30');
    const save = page.getByRole('button', { name: 'Save for all services' });
    await page.getByLabel('Price of input').fill('0.5');
    expect(await save.isDisabled()).toBe(true);
    await page.getByLabel('Price of output').fill('2');
    await checkLooks(opened);
    await save.click();
    await page.getByText('Saved.', { exact: true }).first().waitFor();
    const view = await (await pages.agent().fetch('/api/config/model')).json();
    expect(view).toMatchObject({
      profile: {
        ...{ context_tokens: 16_384, output_tokens: 2048, tools: 'prompted', images: true },
        ...{ reasoning: 'open', text_tool_calls: true, omit_parameters: ['seed', 'top_p'] },
        ...{ loading_timeout_s: 30, price: { input: 0.5, output: 2 } },
      },
    });
  });

  it('asks for the key of another endpoint, as the one that is kept stays where it is', async () => {
    const opened = await pages.open('/app#/settings');
    const { page } = opened;
    await page.getByText('leave this empty to keep it').waitFor();
    const test = page.getByRole('button', { name: 'Test the connection' });
    expect(await test.isDisabled()).toBe(false);
    await page.getByLabel('Address', { exact: true }).fill('https://elsewhere.example/v1');
    await page.getByText('The key that is kept stays with its endpoint').waitFor();
    expect(await test.isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Use this model' }).isDisabled()).toBe(true);
    await checkLooks(opened);
    await page.getByLabel('Key', { exact: true }).fill('its-own');
    expect(await page.getByRole('button', { name: 'Use this model' }).isDisabled()).toBe(false);
  });
});

describeWithBrowser('the settings of the agent', () => {
  let model: ModelServer;
  const pages = agentPages(async () => {
    model = await startModelServer();
    return {
      env: modelEnvironment(model.url),
      config: `# my own words
knowledge: { embeddings: "off" }
subagents: [{ name: digger, description: Digs holes, tools: [calculator] }]
`,
    };
  });
  afterAll(() => model.stop());

  it('are edited as text, with mistakes named at their lines', async () => {
    const opened = await pages.open('/app#/settings/configuration');
    const { page } = opened;
    const editor = page.getByLabel('The configuration');
    await expect.poll(() => editor.inputValue()).toContain('# my own words');
    const good = await editor.inputValue();
    await editor.fill(`${good}nonsense: 1\n`);
    const line = good.split('\n').length;
    const problems = page.getByRole('alert', { name: 'What is wrong' });
    await problems.getByText(`Line ${line}`).waitFor();
    await problems.getByText('unknown key "nonsense"').waitFor();
    expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true);
    await checkLooks(opened);
    await problems.getByRole('button').click();
    expect(
      await page.evaluate(() => String(document.getSelection()) || document.activeElement?.tagName),
    ).toBeTruthy();
    await editor.fill(`${good}identity: { name: Iris }\n`);
    await page.getByText('Not saved yet').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('This is what is in force.').waitFor();
    expect((await config(pages.agent())).text).toContain('name: Iris');
  });

  it('are not written over by an editor that began from an older text', async () => {
    const { page } = await pages.open('/app#/settings/configuration');
    const editor = page.getByLabel('The configuration');
    await expect.poll(() => editor.inputValue()).toContain('# my own words');
    await editor.fill(`# mine\n${await editor.inputValue()}`);
    const changes = [{ op: 'set', path: ['goal', 'max_iterations'], value: 3 }];
    await pages.agent().fetch('/api/config', { ...post({ changes }), method: 'PATCH' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('was changed meanwhile').first().waitFor();
    expect(await editor.inputValue()).toContain('# mine');
    expect((await config(pages.agent())).text).not.toContain('# mine');
    await page.getByRole('button', { name: 'Start over' }).click();
    await expect.poll(() => editor.inputValue()).toContain('max_iterations: 3');
  });

  it('show helpers and give them work', async () => {
    const opened = await pages.open('/app#/helpers');
    const { page } = opened;
    await page.getByText('Digs holes').waitFor();
    model.enqueue('A **deep** hole.');
    await page.getByLabel('Work', { exact: true }).fill('Dig');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('deep').waitFor();
    await checkLooks(opened);
  });

  it('show skills, which are written, tried, switched off and deleted', async () => {
    const opened = await pages.open('/app#/skills');
    const { page } = opened;
    await page.getByText('No skills yet').waitFor();
    await page.getByRole('button', { name: 'New skill' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Haiku writer');
    await dialog.getByLabel('When it fits').fill('Somebody wants a poem');
    await dialog.getByLabel('What to do').fill('Write exactly three lines.');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'Haiku writer' });
    await row.getByText('Somebody wants a poem').waitFor();
    await checkLooks(opened);
    const use = row.getByLabel('Use Haiku writer');
    for (const on of [false, true]) {
      await use.click();
      await expect.poll(() => use.isChecked()).toBe(on);
    }
    model.enqueue('Three lines.');
    await row.getByRole('button', { name: 'Try Haiku writer' }).click();
    await page.getByLabel('Say something').fill('A poem');
    await page.getByRole('button', { name: 'Begin the chat' }).click();
    await page.getByRole('article', { name: 'Turn' }).getByText('Three lines.').waitFor();
    expect(JSON.stringify(model.chats().at(-1)?.messages[0])).toContain('exactly three lines');
    await page.goto(`${pages.agent().url}/app#/skills`);
    await row.getByRole('button', { name: 'Delete Haiku writer' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No skills yet').waitFor();
  });

  it('switch plugins on, and say what one lacks', async () => {
    const opened = await pages.open('/app#/connections');
    const { page } = opened;
    const row = page.getByRole('listitem').filter({ hasText: 'cloud' }).last();
    await row.getByText('Off', { exact: true }).waitFor();
    await row.getByLabel('Use cloud').click();
    await row.getByText('Not set up').waitFor();
    await row.getByText(/CLOUD_CLIENT_ID/).waitFor();
    await checkLooks(opened);
    await row.getByLabel('Use cloud').click();
    await row.getByText('Off', { exact: true }).waitFor();
  });

  it('add MCP servers, tested first, and take their tools', async () => {
    const opened = await pages.open('/app#/connections');
    const { page } = opened;
    await page.getByRole('tab', { name: 'MCP servers' }).click();
    await page.getByText('No MCP servers yet').waitFor();
    await page.getByRole('button', { name: 'Add a server' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('files');
    await dialog.getByLabel('Or command').fill('nothing-of-this-name');
    await dialog.getByRole('button', { name: 'Test' }).click();
    await page.getByText('files does not answer.').first().waitFor();
    await dialog.getByLabel('Or command').fill(process.execPath);
    await dialog.getByLabel('Arguments').fill(mcpProgram);
    await dialog.getByRole('button', { name: 'Test' }).click();
    await page.getByText('files answers.').first().waitFor();
    await checkLooks(opened);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    const review = page.getByRole('dialog', { name: 'What files says about its tools' });
    await review.getByText('Adds.').waitFor();
    await checkLooks(opened);
    expect(await axeViolations(page, 'dialog')).toEqual([]);
    await review.getByRole('button', { name: 'Not now' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'files' }).last();
    await row.getByText('Connected').waitFor();
    await row.getByRole('button', { name: 'Review' }).click();
    await review.getByRole('button', { name: 'Accept' }).click();
    await row.getByRole('button', { name: 'Review' }).waitFor({ state: 'hidden' });
    await page.getByRole('tab', { name: 'All tools' }).click();
    await page.getByLabel('Find a tool').fill('files_');
    await page
      .getByText(/^files_/)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'MCP servers' }).click();
    await row.getByLabel('Use files').click();
    await row.getByText('Off', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Remove files' }).click();
    await page.getByText('No MCP servers yet').waitFor();
  });

  it('import MCP servers: from a list, and from JSON that other clients take', async () => {
    const opened = await pages.open('/app#/connections');
    const { page } = opened;
    await page.getByRole('tab', { name: 'MCP servers' }).click();
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Known servers').selectOption('Linear');
    expect(await dialog.getByLabel('Configuration (JSON)').inputValue()).toContain(
      'https://mcp.linear.app/mcp',
    );
    await dialog.getByLabel('Configuration (JSON)').fill('{ "mcpServers": ');
    await dialog.getByText('This is not JSON.').waitFor();
    const entry = { command: process.execPath, args: [mcpProgram, 'add', 'echo'] };
    const mcpServers = { 'my tools': entry, gone: { command: 'nothing-of-this-name' } };
    await dialog.getByLabel('Configuration (JSON)').fill(JSON.stringify({ mcpServers }, null, 2));
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('my-tools answers. It has 2 tools, 0 prompts and 0 resources.').waitFor();
    await dialog.getByText('gone does not answer. Cannot start nothing-of-this-name').waitFor();
    await checkLooks(opened);
    await dialog.getByRole('button', { name: 'Add 2 servers' }).click();
    await dialog.getByRole('button', { name: 'Accept' }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'my-tools' }).last();
    await row.getByText('Connected').waitFor();
    for (const name of ['my-tools', 'gone']) {
      const remove = page.getByRole('button', { name: `Remove ${name}` });
      await remove.click();
      await remove.waitFor({ state: 'hidden' });
    }
    await page.getByText('No MCP servers yet').waitFor();
  });

  it('add delegates, test them, and switch them off', async () => {
    const opened = await pages.open('/app#/connections');
    const { page } = opened;
    await page.getByRole('tab', { name: 'Delegates' }).click();
    await page.getByRole('button', { name: 'Add a delegate' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('poet');
    await dialog.getByLabel('Kind').selectOption('A model with an OpenAI-compatible API');
    await dialog.getByLabel('Address').fill(model.url);
    await dialog.getByLabel('Model').fill('small');
    await dialog.getByLabel('Token').fill('the-key');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    const row = page.getByRole('listitem').filter({ hasText: 'poet' }).last();
    await row.getByText('compat').waitFor();
    await expect
      .poll(async () => JSON.stringify(await (await pages.agent().fetch('/api/delegates')).json()))
      .toContain('poet');
    model.enqueue('I am here.');
    await row.getByRole('button', { name: 'Test poet' }).click();
    await page.getByText('poet answers.').first().waitFor();
    await checkLooks(opened);
    await row.getByLabel('Use poet').click();
    await expect.poll(() => row.getByRole('button', { name: 'Test poet' }).isDisabled()).toBe(true);
    await row.getByRole('button', { name: 'Remove poet' }).click();
    await page.getByText('No delegates yet').waitFor();
  });
});
