import { expect, it } from 'vitest';
import { runHardDay } from './hard-day.ts';
import { reportOf } from './report.ts';

it('a hard day, cut short: whatever was accepted is accounted for after kills, faults, a full disk and a jumping clock', async () => {
  const result = await runHardDay({
    seconds: 40,
    seed: 3,
    kills: 3,
    fills: 1,
    jumps: 2,
    say: () => undefined,
  });
  const report = reportOf(result);
  expect(report, report).toContain('Everything is accounted for.');
  expect(result.troubles.kill).toBe(3);
  expect(result.modelFaults).toBeGreaterThan(0);
  // Every kind of work was really under way.
  for (const { load, accepted } of result.accounts) expect([load, accepted > 0]).toEqual([load, true]);
});
