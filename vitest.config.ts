import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import KindSequencer from './scripts/test/kind-sequencer.ts';

const shared = {
  environment: 'node',
  // Compiled code of programs that tests start: not in their homes, which may have to be absent, or are a full disk.
  env: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') },
  setupFiles: join(import.meta.dirname, 'packages/testing/vitest-setup.ts'),
  // These only tell a hang from a busy machine: a condition that is slow to come true there is no failure.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 120_000 } },
} as const;
const browser = ['**/*.browser.test.ts'];
const isolated = ['**/*.isolated.test.ts'];
const live = ['**/*.live.test.ts'];
const ignored = ['**/node_modules/**', '**/dist/**'];

/**
 * Plain tests share one context per worker, and so do those in the browser; what changes globals gets a process of its own.
 * Live sound must keep to its time: its tests run one after the other. In a run of everything scripts/test.ts starts them
 * by themselves, ahead of the others in the processor, and the isolated ones after them; in a chosen part they run when the others have ended.
 */
export default defineConfig({
  test: {
    // Two more than cores: many tests wait. A run of everything has three workers more.
    maxWorkers: 4,
    sequence: { sequencer: KindSequencer },
    projects: [
      {
        test: {
          ...shared,
          name: 'plain',
          include: ['**/*.test.ts'],
          exclude: [...ignored, ...browser, ...isolated, ...live],
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
        },
      },
      {
        test: {
          ...shared,
          name: 'browser',
          include: browser,
          exclude: ignored,
          isolate: false,
          pool: 'forks',
        },
      },
      {
        test: {
          ...shared,
          name: 'live',
          // Sound in real time is proven in the browser that people have; a file may ask for the headless build.
          env: { CHROMIUM_HEADLESS_SHELL: '0' },
          include: live,
          exclude: ignored,
          pool: 'forks',
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
