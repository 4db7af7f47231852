import { expect, it } from 'vitest';
import { select } from './changed.ts';

const related = [
  { file: 'apps/agent/turns/turn.test.ts', project: 'plain' },
  { file: 'packages/loop/loop.test.ts', project: 'plain' },
  { file: 'packages/loop/traced.isolated.test.ts', project: 'isolated' },
  { file: 'apps/agent/kill.isolated.test.ts', project: 'isolated' },
  { file: 'apps/agent/browser/chat.browser.test.ts', project: 'browser' },
];
const slowTests = [
  'apps/agent/browser/chat.browser.test.ts',
  'apps/agent/kill.isolated.test.ts',
  'apps/trunkline/commands/doctor.isolated.test.ts',
  'apps/voice/client/page.browser.test.ts',
];

it('runs plain tests near and far, slow ones near, and names those left out', () => {
  expect(select(['packages/loop/turn.ts'], related, slowTests)).toEqual({
    chosen: [
      'apps/agent/turns/turn.test.ts',
      'packages/loop/loop.test.ts',
      'packages/loop/traced.isolated.test.ts',
    ],
    leftOut: ['apps/agent/kill.isolated.test.ts', 'apps/agent/browser/chat.browser.test.ts'],
  });
});

it('runs the browser tests of an app whose page has changed', () => {
  expect(select(['apps/agent/console/pages/Chat.tsx'], [], slowTests)).toEqual({
    chosen: ['apps/agent/browser/chat.browser.test.ts'],
    leftOut: [],
  });
});

it('runs the slow test that bears the name of a changed file, which it starts as a process', () => {
  expect(select(['apps/trunkline/commands/doctor.ts'], [], slowTests)).toEqual({
    chosen: ['apps/trunkline/commands/doctor.isolated.test.ts'],
    leftOut: [],
  });
});
