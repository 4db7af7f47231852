import {
  acceptDescriptions,
  checkLooks,
  describeWithBrowser,
  type McpExample,
  type ModelServer,
  startMcpExample,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { modelEnvironment } from '../fixtures/start-agent.ts';
import { agentPages } from './pages.suite.ts';

describeWithBrowser('a chat with an MCP server', () => {
  let model: ModelServer | undefined;
  let server: McpExample | undefined;
  let gate: McpExample | undefined;
  const pages = agentPages(async () => {
    model = await startModelServer();
    server = await startMcpExample();
    gate = await startMcpExample('--oauth', '--oauth-strict');
    const servers = `[{ name: sdk, url: "${server.url}" }, { name: gate, url: "${gate.url}" }]`;
    return {
      env: modelEnvironment(model.url),
      config: `knowledge: { embeddings: "off" }\nmcp: { servers: ${servers} }\n`,
    };
  });
  afterAll(async () => {
    await gate?.kill();
    await server?.kill();
    await model?.stop();
  });

  it('offers its prompts after a slash, and its question as a form that can be declined', async () => {
    await acceptDescriptions(pages.agent().url);
    const opened = await pages.open('/');
    const { page } = opened;
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill('/sdk');
    await page.getByRole('button', { name: /^\/sdk:greeting-template/ }).click();
    await box.fill('/sdk');
    await checkLooks(opened);
    model?.enqueue({ toolCalls: [{ name: 'sdk_collect-user-info', arguments: { infoType: 'contact' } }] });
    await box.fill('Collect my contact information');
    await box.press('Enter');
    await page.getByRole('heading', { name: 'The MCP server sdk asks' }).waitFor();
    await page.getByLabel('Full Name').waitFor();
    await checkLooks(opened);
    model?.enqueue('As you wish.');
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('As you wish.').waitFor();
  });

  it('is signed in to with a click, at a page of the server', async () => {
    const { page } = await pages.open('/app#/connections');
    await page.getByRole('tab', { name: 'MCP servers' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const states = async () => JSON.stringify(await (await pages.agent().fetch('/api/mcp/servers')).json());
    await expect.poll(states).toContain('{"name":"gate","state":"connected"');
  });
});
