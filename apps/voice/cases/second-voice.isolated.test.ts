import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasLocalVoices, openLocalVoices } from './harness/local-voices.suite.ts';
import { Stage } from './harness/stage.suite.ts';

const story =
  'The museum opens at nine. It shows paintings, coins and clocks. It closes at six in the evening.';

describe.skipIf(!(await hasLocalVoices()))('while the bot speaks', () => {
  let voices: Awaited<ReturnType<typeof openLocalVoices>>;
  beforeAll(async () => {
    voices = await openLocalVoices();
  });
  afterAll(() => voices.close());

  it.each([
    ['a second voice in the room, 15 dB softer than the caller, does not interrupt it', -15, false],
    ['the caller interrupts it, also 6 dB softer than before', -6, true],
  ])('%s', async (_, decibels, interrupts) => {
    const answers = [{ to: 'museum', text: story }, { text: 'Fine.' }];
    const stage = new Stage({ answers, voices: () => voices.open() });
    onTestFinished(() => stage.close());
    await stage.call();
    await stage.say('What can I see in the museum?');
    await stage.until(() => stage.caller.speaker.sounding);
    await stage.pass(500);
    const said = await stage.voices.sounds.speech('Did you remember to call your sister yesterday?');
    const gain = 10 ** (decibels / 20);
    await stage.sound(said.map((sample) => sample * gain));
    await stage.until(() => !stage.caller.speaker.sounding);
    await stage.pass(3000);
    expect(stage.caller.events.some((event) => event.includes('bot-interrupted'))).toBe(interrupts);
  });
});
