import { type PagesUnderTest, pagesUnderTest } from '@trunkline/testing';
import { ensurePages } from '@trunkline/ui/build';
import { startSwitchboard, type TestOptions, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

/** A switchboard with its built pages, and a browser, for the tests of a file. */
export function consolePages(options: () => Promise<TestOptions>): PagesUnderTest<TestSwitchboard> {
  return pagesUnderTest(async () => {
    await ensurePages({ app: 'switchboard' });
    return await startSwitchboard(await options());
  });
}
