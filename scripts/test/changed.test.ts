import { expect, it } from 'vitest';
import { select } from './changed.ts';

const related = [
  { file: 'apps/agent/turns/turn.test.ts', project: 'plain' },
  { file: 'packages/loop/loop.test.ts', project: 'plain' },
  { file: 'packages/loop/traced.isolated.test.ts', project: 'isolated' },
  { file: 'apps/agent/kill.isolated.test.ts', project: 'isolated' },
  { file: 'apps/agent/browser/chat.browser.test.ts', project: 'browser' },
];
const browserTests = ['apps/agent/browser/chat.browser.test.ts', 'apps/voice/client/page.browser.test.ts'];

it('runs plain tests near and far, slow ones near, and names those left out', () => {
  expect(select(['packages/loop/turn.ts'], related, browserTests)).toEqual({
    chosen: [
      'apps/agent/turns/turn.test.ts',
      'packages/loop/loop.test.ts',
      'packages/loop/traced.isolated.test.ts',
    ],
    leftOut: ['apps/agent/kill.isolated.test.ts', 'apps/agent/browser/chat.browser.test.ts'],
  });
});

it('runs the browser tests of an app whose page has changed', () => {
  expect(select(['apps/agent/console/pages/Chat.tsx'], [], browserTests)).toEqual({
    chosen: ['apps/agent/browser/chat.browser.test.ts'],
    leftOut: [],
  });
});
