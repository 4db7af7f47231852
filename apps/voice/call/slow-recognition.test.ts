import type { FakeClock } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { textIn } from '../cases/harness/code.suite.ts';
import { Stage } from '../cases/harness/stage.suite.ts';
import { scriptedVoices } from '../cases/harness/voices.suite.ts';

const answers = [
  {
    to: 'open?',
    text: 'The museum opens at nine, and it closes at six in the evening on every day of the week.',
  },
  { to: 'Sundays', text: 'At ten.' },
];
/** Takes about three seconds to say. */
const sentence = 'Could you rather tell me about the opening hours on Sundays';

/** What the recogniser does: milliseconds that each transcript takes; undefined: it understands nothing yet. */
type Script = (isFinal: boolean, count: number) => number | undefined;

/** The bot is in mid-answer; from now on the recogniser follows the script, and the next windows with sound hold a voice with these probabilities. */
async function openAnswering(script: Script, probabilities: number[] = []) {
  let [count, isSlow] = [0, false];
  const voices = (clock: FakeClock) => {
    const scripted = scriptedVoices(clock);
    const { recognizer } = scripted.speech;
    const recognize: typeof recognizer.recognize = async (samples, options) => {
      if (!isSlow) return recognizer.recognize(samples, options);
      const takesMs = script(options.final, count);
      count += 1;
      if (takesMs === undefined) return '';
      await new Promise<void>((resolve) => void clock.setTimer(takesMs, resolve));
      return textIn(samples);
    };
    const openDetector = async () => {
      const detector = await scripted.speech.openDetector();
      const accept = async (samples: Float32Array) => {
        const probability = await detector.accept(samples);
        return (isSlow && probability > 0.5 ? probabilities.shift() : undefined) ?? probability;
      };
      return { ...detector, accept };
    };
    const speech = { ...scripted.speech, openDetector, recognizer: { ...recognizer, recognize } };
    return { ...scripted, speech };
  };
  const stage = new Stage({ answers, voices });
  onTestFinished(() => stage.close());
  await stage.call();
  await stage.say('When does the museum open?');
  await stage.until(() => stage.heard().includes('nine'));
  isSlow = true;
  return stage;
}

const resumed = (stage: Stage) => stage.caller.events.filter((event) => event.includes('speech-resumed'));

describe('a caller who speaks on over the bot', () => {
  it.each<[string, Script]>([
    ['gives the first words at 900 ms and at 1.8 s', (_, count) => [600, 900][count] ?? 300],
    ['understands nothing before the sentence is over', (isFinal) => (isFinal ? 600 : undefined)],
  ])('is not spoken over, and is answered, where the recogniser %s', async (_, script) => {
    const stage = await openAnswering(script);
    const { speaker } = stage.caller;
    let silentAtMs = -1;
    speaker.onNextSilence(() => {
      silentAtMs = speaker.playedMs;
    });
    await stage.say(sentence);
    expect(speaker.playedMs).toBe(silentAtMs);
    await stage.until(() => stage.heard().endsWith('At ten.'));
    expect(stage.types()).toContain('bot-interrupted');
    expect(resumed(stage)).toEqual([]);
  });

  it('does not silence it for ever if no word is understood', async () => {
    const stage = await openAnswering(() => undefined);
    // As loud as a voice, and no word of the code.
    await stage.sound(new Int16Array(16 * 20_000).fill(12_000));
    expect(resumed(stage).length).toBeGreaterThan(0);
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(stage.types()).not.toContain('bot-interrupted');
  });

  it('silences it for two seconds at most with a sound that only began like a voice', async () => {
    const stage = await openAnswering(() => 10_000, [0.95, 0.9, 0.9, 0.85, 0.65, 0.65, 0.65, 0.65, 0.65]);
    const { speaker } = stage.caller;
    await stage.sound(new Int16Array(16 * 32 * 8).fill(12_000));
    expect(speaker.paused).toBe(true);
    await stage.pass(2200);
    expect([speaker.paused, resumed(stage).length]).toEqual([false, 1]);
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(stage.types()).not.toContain('bot-interrupted');
  });
});
