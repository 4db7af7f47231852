import { defineConfig } from 'vitest/config';

const shared = { environment: 'node', testTimeout: 20_000, hookTimeout: 30_000 } as const;
const browser = ['**/*.browser.test.ts'];
const isolated = ['**/*.isolated.test.ts'];
const ignored = ['**/node_modules/**', '**/dist/**'];

/** Plain tests share one context per worker; what changes globals or drives a browser gets a process of its own. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'plain',
          include: ['**/*.test.ts'],
          exclude: [...ignored, ...browser, ...isolated],
          isolate: false,
          pool: 'forks',
        },
      },
      {
        test: {
          ...shared,
          name: 'isolated',
          include: isolated,
          exclude: ignored,
          pool: 'forks',
          testTimeout: 60_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'browser',
          include: browser,
          exclude: ignored,
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
