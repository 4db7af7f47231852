import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wordError } from '../speech/word-error.suite.ts';
import { loadCases } from './harness/case.suite.ts';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';
import { problemsOf, runCase } from './harness/run.suite.ts';

const installed = await hasLocalVoices();
const mostWrong = 0.2;

describe.skipIf(!installed)('a call with the models of this machine', () => {
  let voices: Awaited<ReturnType<typeof openLocalVoices>>;
  beforeAll(async () => {
    voices = await openLocalVoices();
  });
  afterAll(() => voices.close());

  for (const { name, test } of loadCases().filter(({ test: { voices: kind } }) => kind === 'local')) {
    it(`${name}: ${test.about}`, async () => {
      const outcome = await runCase(test, () => voices.open());
      expect(problemsOf(test, outcome), outcome.events.join('\n')).toEqual([]);
      await understandable(outcome);
    });
  }

  /** What was played says what the captions show. */
  async function understandable({
    conversation,
    played,
  }: Awaited<ReturnType<typeof runCase>>): Promise<void> {
    const shown = conversation.flatMap((line) => (line.startsWith('bot: ') ? line.slice(5) : []));
    // A word that is cut off in the middle is understood by nobody, and a few words alone are often misheard.
    if (shown.some((line) => line.endsWith('--')) || shown.join(' ').split(' ').length < 10) return;
    const heard = await voices.transcribe(played);
    expect(wordError([shown.join(' ')], [heard]), heard).toBeLessThanOrEqual(mostWrong);
  }
});
