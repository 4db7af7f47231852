// What the tests of the agent's pages share: the service with its pages, a browser, and what must hold for every page.
import {
  launchBrowser,
  namelessControls,
  sidewaysScroll,
  type TestBrowser,
  type TestPage,
  type WindowOptions,
} from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { startAgent, type TestAgent, type TestAgentOptions } from '../fixtures/start-agent.ts';

export type Page = TestPage['page'];

export interface AgentPages {
  agent(): TestAgent;
  /** Opens a page of the service; closed after the test. */
  open(path: string, window?: WindowOptions): Promise<TestPage>;
}

const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

/** Starts the service with its pages, and a browser, for the tests of a file. */
export function agentPages(options: () => Promise<TestAgentOptions>): AgentPages {
  let browser: TestBrowser;
  let agent: TestAgent;
  const opened: TestPage[] = [];
  beforeAll(async () => {
    await ensurePages({ app: 'agent' });
    [browser, agent] = await Promise.all([launchBrowser(), options().then(startAgent)]);
  }, 180_000);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((page) => page.close()));
  });
  afterAll(async () => {
    await browser.close();
    await agent.stop();
  });
  return {
    agent: () => agent,
    async open(path, window = {}) {
      const page = await browser.open(`${agent.url}${path}`, { reducedMotion: 'reduce', ...window });
      opened.push(page);
      return page;
    },
  };
}

/** On a desktop and a phone, in light and dark: nothing scrolls sideways, and every control has a name. */
export async function checkLooks({ page, problems }: TestPage): Promise<void> {
  const before = page.viewportSize();
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await sidewaysScroll(page), `${size.width} ${colorScheme}`).toBe(0);
      expect(await namelessControls(page), `${size.width} ${colorScheme}`).toEqual([]);
      await picture(page, `${size.width}-${colorScheme}`);
    }
  }
  if (before) await page.setViewportSize(before);
  expect(problems).toEqual([]);
}

/** A picture for whoever looks the pages over: SCREENSHOTS names the folder. */
async function picture(page: Page, name: string): Promise<void> {
  // biome-ignore lint/style/noProcessEnv: tests alone read it
  const folder = process.env.SCREENSHOTS;
  if (!folder) return;
  const test = (expect.getState().currentTestName ?? 'page').replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 60);
  await page.screenshot({ path: `${folder}/${test}-${name}.png` });
}
