import { type PagesUnderTest, pagesUnderTest, type TestPage } from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { startAgent, type TestAgent, type TestAgentOptions } from '../fixtures/start-agent.ts';

export type Page = TestPage['page'];
export type Route = Parameters<Parameters<Page['route']>[1]>[0];

export interface AgentPages extends Pick<PagesUnderTest<TestAgent>, 'open'> {
  agent(): TestAgent;
}

/** An agent with its built pages, and a browser, for the tests of a file. */
export function agentPages(options: () => Promise<TestAgentOptions>): AgentPages {
  const { service, open } = pagesUnderTest(async () => {
    await ensurePages({ app: 'agent' });
    return await startAgent(await options());
  });
  return { agent: service, open };
}
