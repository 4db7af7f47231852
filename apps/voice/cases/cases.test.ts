import { describe, expect, it } from 'vitest';
import { loadCases } from './harness/case.suite.ts';
import { runCase } from './harness/run.suite.ts';
import { scriptedVoices } from './harness/voices.suite.ts';

describe('a call', () => {
  for (const { name, test } of loadCases().filter(({ test: { voices } }) => voices === 'code')) {
    it(`${name}: ${test.about}`, async () => {
      const outcome = await runCase(test, (clock) => scriptedVoices(clock, test));
      const {
        conversation,
        silence,
        yields,
        pauses,
        thrown_away: thrownAway,
        remembered,
        waiting,
        runs,
      } = test.expect;
      const told = outcome.events.join('\n');
      expect(outcome.conversation, told).toEqual(conversation);
      if (silence !== undefined) expect(outcome.silence, told).toBeLessThanOrEqual(silence);
      if (yields !== undefined) expect(outcome.yields, told).toBeLessThanOrEqual(yields);
      if (pauses !== undefined) expect(outcome.pauses, told).toBe(pauses);
      if (thrownAway !== undefined) expect(outcome.thrownAway, told).toBe(thrownAway);
      if (remembered !== undefined) expect(outcome.remembered, told).toEqual(remembered);
      if (waiting !== undefined) expect(outcome.waiting, told).toBe(waiting);
      if (runs !== undefined) expect(outcome.runs, told).toBe(runs);
      expect(outcome.timers, 'timers left behind').toBe(0);
    });
  }
});
