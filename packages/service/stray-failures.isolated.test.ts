import { type Child, startChild } from '@trunkline/testing';
import { afterEach, expect, it } from 'vitest';
import { strayFailure } from './run.ts';

let child: Child | undefined;
afterEach(() => child?.kill());

it('a service outlives a failure that nobody waited for, logs it with its cause, and stops in good order', async () => {
  child = startChild(new URL('./fixtures/stray-service.ts', import.meta.url));
  await child.waitForLine('still here');
  const line = await child.waitForLine(strayFailure);
  expect(line).toContain('the defect');
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});
