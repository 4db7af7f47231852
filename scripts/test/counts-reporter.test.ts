import { expect, it } from 'vitest';
import { firstLine } from './counts-reporter.ts';

it('says what Playwright waited for, and the last thing that it saw', () => {
  const log = [
    '',
    "  - waiting for getByRole('tooltip') to be visible",
    '    - locator resolved to hidden <div>',
    '',
  ];
  expect(firstLine(new Error(`locator.waitFor: Timeout 30000ms exceeded.\nCall log:${log.join('\n')}`))).toBe(
    "locator.waitFor: Timeout 30000ms exceeded. ← waiting for getByRole('tooltip') to be visible ← locator resolved to hidden <div>",
  );
});

it('says the first line of an error and of its cause', () => {
  const cause = new Error('exit code 1\nand more');
  expect(firstLine(new Error('the worker ended\n  - waiting', { cause }))).toBe(
    'the worker ended (exit code 1)',
  );
  expect(firstLine('plain words')).toBe('plain words');
});
