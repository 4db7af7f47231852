import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wordError } from '../speech/word-error.suite.ts';
import { loadCases } from './harness/case.suite.ts';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';
import { runCase } from './harness/run.suite.ts';

const installed = await hasLocalVoices();
const mostWrong = 0.2;

describe.skipIf(!installed)('a call with the models of this machine', () => {
  let voices: Awaited<ReturnType<typeof openLocalVoices>>;
  beforeAll(async () => {
    voices = await openLocalVoices();
  }, 120_000);
  afterAll(() => voices.close());

  for (const { name, test } of loadCases().filter(({ test: { voices: kind } }) => kind === 'local')) {
    it(`${name}: ${test.about}`, { timeout: 600_000 }, async () => {
      const outcome = await runCase(test, () => voices.open());
      const told = outcome.events.join('\n');
      const { conversation, silence, pauses } = test.expect;
      expect(outcome.conversation.length, `${outcome.conversation.join('\n')}\n${told}`).toBe(
        conversation.length,
      );
      for (const [index, line] of conversation.entries())
        expect(
          lineError(line, outcome.conversation[index] ?? ''),
          outcome.conversation[index],
        ).toBeLessThanOrEqual(mostWrong);
      if (silence !== undefined) expect(outcome.silence, told).toBeLessThanOrEqual(silence);
      if (pauses !== undefined) expect(outcome.pauses, told).toBe(pauses);
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

/** Where a voice is cut off differs a little from time to time; that it is does not. */
function lineError(expected: string, actual: string): number {
  if (expected.endsWith('--') !== actual.endsWith('--')) return 1;
  if (!expected.endsWith('--')) return wordError([expected], [actual]);
  const least = Math.min(expected.split(' ').length, actual.split(' ').length) - 1;
  const start = (line: string) => line.split(' ').slice(0, least).join(' ');
  return least < 5 ? 1 : wordError([start(expected)], [start(actual)]);
}
