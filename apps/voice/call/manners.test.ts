import type { FakeClock } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { speechOf } from '../cases/harness/code.suite.ts';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';
import { recordedVoices, scriptedVoices } from '../cases/harness/voices.suite.ts';

async function openCall(setup: StageSetup = {}) {
  const stage = new Stage(setup);
  onTestFinished(() => stage.close());
  await stage.call();
  return stage;
}

const wasTold = (stage: Stage, type: string) =>
  stage.caller.received.some(({ message }) => (message.data as { type?: string } | undefined)?.type === type);

const farewell = [
  { to: 'goodbye', tool: 'end_call' },
  { result_of: 'end_call', text: 'Goodbye, and have a nice day.' },
  { to: 'wait', text: 'I am still here.' },
];

describe('a call that the bot ends', () => {
  it('ends after the farewell, and is cut off if the page stays', async () => {
    const stage = await openCall({ answers: farewell });
    await stage.say('Okay, goodbye.');
    await stage.until(() => wasTold(stage, 'call-ended'));
    expect(stage.heard()).toBe('Goodbye, and have a nice day.');
    expect(stage.caller.isClosed).toBe(false);
    await stage.until(() => stage.caller.isClosed);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it.each([
    ['before the farewell is over', 900],
    ['beyond the end of the farewell', 300],
  ])('ends though the caller says "okay" %s', async (_, leftMs) => {
    const stage = await openCall({ answers: farewell });
    await stage.say('Okay, goodbye.');
    await stage.until(() => stage.heard().includes('have') && stage.caller.speaker.queuedMs <= leftMs);
    await stage.say('okay');
    await stage.until(() => wasTold(stage, 'call-ended'));
    expect(stage.heard()).toBe('Goodbye, and have a nice day.');
  });

  it('goes on when the caller says more before it has ended', async () => {
    const stage = await openCall({ answers: farewell });
    await stage.say('Okay, goodbye.');
    await stage.until(() => stage.heard().includes('have'));
    // The words of scripted voices go up and down alike; spoken at the same beat they would pass for an echo.
    await stage.pass(120);
    await stage.say('No wait, one more thing.');
    await stage.until(() => stage.heard().endsWith('I am still here.'));
    await stage.pass(5000);
    expect(wasTold(stage, 'call-ended')).toBe(false);
    expect(stage.caller.isClosed).toBe(false);
  });
});

it('goes on when the caller writes more before a call has ended', async () => {
  const stage = await openCall({ answers: farewell });
  await stage.say('Okay, goodbye.');
  await stage.until(() => stage.heard().includes('have'));
  stage.caller.tell({ type: 'send-text', data: { content: 'wait, one more thing' } });
  await stage.until(() => stage.heard().endsWith('I am still here.'));
  await stage.pass(5000);
  expect(wasTold(stage, 'call-ended')).toBe(false);
});

describe('a call that is put on hold', () => {
  const answers = [
    { to: 'hold', tool: 'hold_call' },
    { result_of: 'hold_call', text: 'Sure, I will wait.' },
    { to: 'open', text: 'At nine.' },
    { to: 'back', text: 'Good, where were we?' },
    { to: 'kitchen', text: 'I should not answer this.' },
  ];
  async function openHeld() {
    const stage = await openCall({ answers, behavior: { reprompt_after: 3 } });
    await stage.say('Please hold the line.');
    await stage.until(() => stage.heard().endsWith('I will wait.') && !stage.caller.speaker.sounding);
    await stage.pass(500);
    return stage;
  }

  it('answers nobody, asks nothing and announces nothing until the caller is back', async () => {
    const stage = await openHeld();
    const asked = stage.model.prompts.length;
    await stage.say('The keys are in the kitchen, I think.');
    stage.delivery.deliver(undefined, { from: 'Ada', text: 'I am home.', policy: 'next_silence' });
    await stage.pass(20_000);
    expect(stage.heard()).toBe('Sure, I will wait.');
    expect(stage.model.prompts).toHaveLength(asked);
    await stage.say("Okay, I'm back.");
    await stage.until(() => stage.heard().includes('where were we?'));
    expect(wasTold(stage, 'call-resumed')).toBe(true);
    expect(JSON.stringify(stage.model.prompts)).not.toContain('kitchen');
    await stage.until(() => stage.heard().includes('Ada says: I am home.'));
  });

  it('goes on when the page resumes it', async () => {
    const stage = await openHeld();
    expect([wasTold(stage, 'call-held'), wasTold(stage, 'call-resumed')]).toEqual([true, false]);
    await stage.pass(10_000);
    stage.caller.tell({ type: 'client-message', data: { t: 'resume-call' } });
    await stage.until(() => wasTold(stage, 'call-resumed'));
    // The silence of the hold is not the caller's.
    await stage.pass(2000);
    expect(stage.heard()).toBe('Sure, I will wait.');
    await stage.say('When do you open?');
    await stage.until(() => stage.heard().endsWith('At nine.'));
  });

  it('goes on with a written message', async () => {
    const stage = await openHeld();
    stage.caller.tell({ type: 'send-text', data: { content: 'When do you open?' } });
    await stage.until(() => stage.heard().endsWith('At nine.'));
    await stage.say('And on Sundays, do you open?');
    await stage.until(() => stage.heard().endsWith('At nine. At nine.'));
  });
});

describe('a greeting', () => {
  const behavior = { greeting: 'Hello, this is the museum.' };

  it('is said when the call begins, once, and belongs to the conversation', async () => {
    const stage = await openCall({ behavior, answers: [{ text: 'At nine.' }] });
    stage.caller.tell({ type: 'client-ready' });
    stage.caller.tell({ type: 'client-ready' });
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    await stage.say('When do you open?');
    await stage.until(() => stage.heard().endsWith('At nine.'));
    expect(stage.heard()).toBe('Hello, this is the museum. At nine.');
  });

  it('is synthesized before what is only prepared', async () => {
    const { voices, made } = recordedVoices();
    const stage = await openCall({ behavior, voices });
    await stage.pass(500);
    stage.caller.tell({ type: 'client-ready' });
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    const stoppedAt = stage.clock.now();
    await stage.until(() => made.some(({ text }) => text === 'Okay.'));
    const before = made.filter(({ at }) => at < stoppedAt - 20);
    expect(before.map(({ text }) => text).join(' ')).toBe(behavior.greeting);
  });

  it('is not said again when a lost line comes back', async () => {
    const stage = await openCall({ behavior });
    stage.caller.tell({ type: 'client-ready', data: { about: { reconnected: true } } });
    await stage.pass(3000);
    expect(stage.heard()).toBe('');
  });
});

describe('a caller who says nothing', () => {
  const behavior = { reprompt_after: 8 };

  it('is asked once whether they are still there, and again after they have spoken', async () => {
    const stage = await openCall({ behavior, answers: [{ text: 'At nine.' }] });
    const asked = () => stage.heard().split('Are you still there?').length - 1;
    await stage.say('When do you open?');
    await stage.until(() => asked() === 1);
    await stage.pass(30_000);
    expect(asked()).toBe(1);
    await stage.say('Yes, and on Sundays?');
    await stage.until(() => asked() === 2);
  });

  it('is not asked while they speak or the model thinks', async () => {
    const story = Array.from({ length: 50 }, (_, index) => `word${index}`).join(' ');
    const slow = [
      { to: 'open', text: 'The museum opens at nine, and it closes at six in the evening on every day.' },
      { to: 'slow', text: 'Here it is.', after: 9000 },
    ];
    const stage = await openCall({
      behavior: { reprompt_after: 3, micro_ack: false },
      answers: slow,
      verbosity: 'silent',
    });
    await stage.say('When do you open?');
    await stage.until(() => stage.heard().includes('six'));
    await stage.say(`No wait, ${story} be slow now.`);
    await stage.until(() => stage.heard().includes('Here it is.'));
    expect(stage.heard()).not.toContain('Are you still there?');
    stage.caller.close('hung up');
    await stage.clock.advanceBy(0);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it('is not asked where the skill does not want it', async () => {
    const stage = await openCall({ answers: [{ text: 'At nine.' }] });
    await stage.say('When do you open?');
    await stage.pass(30_000);
    expect(stage.heard()).toBe('At nine.');
  });
});

describe('speech over the bot', () => {
  const answers = [
    { text: 'The museum opens at nine, and it closes at six in the evening on every day of the week.' },
  ];

  it('lowers its voice at once, and a backchannel brings it back', async () => {
    const stage = await openCall({ answers });
    const { speaker } = stage.caller;
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    const at = stage.clock.now();
    let duckedAt = Infinity;
    const speech = stage.say('mhm');
    await stage.until(() => {
      if (speaker.ducked) duckedAt = Math.min(duckedAt, stage.clock.now());
      return duckedAt < Infinity;
    });
    await speech;
    expect(duckedAt - at).toBeLessThanOrEqual(150);
    await stage.until(() => !speaker.ducked);
    await stage.until(() => stage.heard().endsWith('week.'));
  });

  it('is silent within 300 ms, tells the page, and goes on where it was if it was nothing', async () => {
    const stage = await openCall({ answers });
    const { speaker } = stage.caller;
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    // As loud as a voice, and no word of the code.
    const wordless = new Int16Array(16 * 400).fill(12_000);
    const at = stage.clock.now();
    let [duckedAt, pausedAt] = [Infinity, Infinity];
    const sound = stage.sound(wordless);
    await stage.until(() => {
      if (speaker.ducked) duckedAt = Math.min(duckedAt, stage.clock.now());
      if (speaker.paused) pausedAt = Math.min(pausedAt, stage.clock.now());
      return pausedAt < Infinity;
    });
    await sound;
    expect(duckedAt - at).toBeLessThanOrEqual(150);
    // What is on its way lasts 60 ms at most.
    expect(pausedAt - at).toBeLessThanOrEqual(180);
    const told = () =>
      stage.caller.received.flatMap(({ message }) =>
        message.type === 'server-message' ? [(message.data as { type: string }).type] : [],
      );
    expect(told()).toEqual(['speech-paused']);
    await stage.until(() => told().includes('speech-resumed'));
    expect([speaker.paused, speaker.ducked]).toEqual([false, false]);
    expect(stage.clock.now() - pausedAt).toBeLessThan(700);
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    expect([speaker.ducked, stage.types().includes('bot-interrupted')]).toEqual([false, false]);
    const played = speaker.played.flatMap(({ samples }) => [...samples]);
    expect(played).toEqual([...speechOf(answers[0]?.text ?? '')]);
  });

  it('goes on at once after a short sound like a voice, and is not chopped by a row of them', async () => {
    const stage = await openCall({ answers });
    const { speaker } = stage.caller;
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    // Too short for speech.
    const sound = [...new Int16Array(16 * 110).fill(12_000), ...new Int16Array(16 * 400)];
    await stage.sound(Int16Array.from([...sound, ...sound, ...sound]));
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(speaker.pauses).toBe(1);
    expect([speaker.paused, speaker.ducked]).toEqual([false, false]);
    expect(stage.types()).not.toContain('bot-interrupted');
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    const played = speaker.played.flatMap(({ samples }) => [...samples]);
    expect(played).toEqual([...speechOf(answers[0]?.text ?? '')]);
  });

  it('has the page cut off what it has before an interruption is certain', async () => {
    const stage = await openCall({ answers });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    await stage.say('No wait, I mean on Sundays.');
    await stage.until(() => stage.types().includes('bot-interrupted'));
    const order = stage.caller.received.map(
      ({ message }) => (message.data as { type?: string } | undefined)?.type ?? message.type,
    );
    expect(order.indexOf('speech-paused')).toBeGreaterThan(0);
    expect(order.indexOf('speech-paused')).toBeLessThan(order.indexOf('bot-interrupted'));
    expect(order).not.toContain('speech-resumed');
  });

  it.each([
    ['begins with a word that the bot has just said', speechOf('museum hours are what I asked for')],
    [
      'begins with holes',
      Int16Array.from([
        ...new Int16Array(16 * 140).fill(12_000),
        ...new Int16Array(16 * 130),
        ...new Int16Array(16 * 130).fill(12_000),
        ...new Int16Array(16 * 60),
        ...speechOf('No wait, I mean on Sundays.'),
      ]),
    ],
  ])('stays silent under an interruption that %s', async (_, said) => {
    const stage = await openCall({ answers });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    await stage.sound(said);
    await stage.until(() => stage.types().includes('bot-interrupted'));
    expect([stage.caller.speaker.pauses, wasTold(stage, 'speech-resumed')]).toEqual([1, false]);
  });

  it('is not interrupted by a short sound that passes for a word and is hardly a voice', async () => {
    const voices = (clock: FakeClock) => {
      const scripted = scriptedVoices(clock);
      const openDetector = async () => {
        const detector = await scripted.speech.openDetector();
        return {
          ...detector,
          accept: async (samples: Float32Array) => 0.7 * (await detector.accept(samples)),
        };
      };
      return { ...scripted, speech: { ...scripted.speech, openDetector } };
    };
    const stage = await openCall({ answers, voices });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    await stage.say('dur');
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(stage.types()).not.toContain('bot-interrupted');
    expect(stage.caller.speaker.pauses).toBe(0);
  });

  it('does not lower the voice of one who may not be interrupted', async () => {
    const stage = await openCall({ answers, behavior: { bargein: false } });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    await stage.say('mhm');
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(stage.caller.speaker.ducks).toBe(0);
  });
});

describe('somebody further away than the caller', () => {
  const answers = [
    {
      to: 'open',
      text: 'The museum opens at nine, and it closes at six in the evening on every day of the week.',
    },
    { text: 'Fine.' },
  ];
  const farWords = 'did you call your sister';
  /** The code of words does not survive at another level: what is soft says `farWords`. */
  const voices = (clock: FakeClock) => {
    const scripted = scriptedVoices(clock);
    const { recognizer } = scripted.speech;
    const peak = (samples: Float32Array) => samples.reduce((most, sample) => Math.max(most, sample), 0);
    const recognize: typeof recognizer.recognize = async (samples, options) =>
      peak(samples) < 0.2 ? farWords : recognizer.recognize(samples, options);
    const openDetector = async () => ({
      accept: async (samples: Float32Array) => (peak(samples) > 0.03 ? 0.95 : 0.05),
      reset: () => undefined,
      close: async () => undefined,
    });
    return {
      ...scripted,
      speech: { ...scripted.speech, openDetector, recognizer: { ...recognizer, recognize } },
    };
  };
  const far = () => speechOf(farWords).map((sample) => sample * 10 ** (-15 / 20));

  it('neither interrupts nor lowers the voice of the bot, the caller does', async () => {
    const stage = await openCall({ answers, voices });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().includes('nine'));
    await stage.sound(far());
    await stage.pass(500);
    expect([stage.caller.speaker.ducks, stage.caller.speaker.pauses]).toEqual([0, 0]);
    await stage.say('No wait, on Sundays.');
    await stage.until(() => stage.types().includes('bot-interrupted'));
    expect(stage.caller.speaker.ducks).toBe(1);
  });

  it('is the caller, and interrupts, where only the first words of the call were louder', async () => {
    const story = 'Your sister calls at eight, and she stays until ten in the evening on every day.';
    const stage = await openCall({ answers: [{ to: 'sister', text: story }, ...answers], voices });
    await stage.say('When does the museum open?');
    await stage.until(() => stage.heard().endsWith('week.'));
    await stage.pass(1500);
    await stage.sound(far());
    await stage.until(() => stage.heard().includes('eight'));
    await stage.sound(far());
    await stage.until(() => stage.types().some(isInterrupted) || stage.heard().endsWith('day.'));
    expect(stage.types()).toContain('bot-interrupted');
  });

  it('is not taken for the caller after speaking while the bot is silent', async () => {
    const stage = await openCall({ answers, voices });
    const ask = async () => {
      await stage.say('When does the museum open?');
      await stage.until(() => stage.heard().split('nine').length > count);
      count += 1;
    };
    let count = 1;
    await ask();
    await stage.until(() => stage.heard().endsWith('week.'));
    for (let turn = 0; turn < 2; turn += 1) {
      await stage.pass(1500);
      await stage.sound(far());
      await stage.pass(3000);
    }
    const [ducks, interrupted] = [stage.caller.speaker.ducks, stage.types().filter(isInterrupted).length];
    await ask();
    await stage.sound(far());
    await stage.until(() => stage.heard().endsWith('week.'));
    expect(stage.caller.speaker.ducks).toBe(ducks);
    expect(stage.types().filter(isInterrupted)).toHaveLength(interrupted);
  });
});

const isInterrupted = (type: string) => type === 'bot-interrupted';

describe('an answer to a question after which the bot goes on', () => {
  const rest = 'It is by the window in the corner of the room, and the kitchen is open until eleven.';
  const answers = [
    { to: 'dinner', text: `Shall I book the table for you? ${rest} ${rest} ${rest}` },
    { to: 'yes', text: 'Done.' },
  ];

  async function sayYes() {
    let pushed = 0;
    const voices = (clock: FakeClock) => {
      const scripted = scriptedVoices(clock);
      const live = {
        isHeard: false,
        transcript: '',
        push: (samples: Float32Array) => {
          pushed += samples.length;
        },
        finish: async () => '',
      };
      const recognizer = { ...scripted.speech.recognizer, listen: () => live };
      return { ...scripted, speech: { ...scripted.speech, recognizer } };
    };
    const stage = await openCall({ answers, voices });
    await stage.say('Find me a place for dinner.');
    await stage.until(() => stage.heard().includes('window'));
    pushed = 0;
    await stage.say('yes');
    return { stage, pushedMs: () => pushed / 16 };
  }

  it('is answered when the bot has finished, and nothing listens on meanwhile', async () => {
    const { stage, pushedMs } = await sayYes();
    await stage.until(() => stage.heard().endsWith('Done.'));
    expect(stage.types()).not.toContain('bot-interrupted');
    expect(pushedMs()).toBeLessThan(2000);
  });

  it('does not make an interruption of the backchannels that follow', async () => {
    const { stage } = await sayYes();
    for (let count = 0; count < 5; count += 1) {
      await stage.pass(1500);
      await stage.say('mhm');
    }
    await stage.until(() => stage.heard().endsWith('Done.'));
    expect(stage.types()).not.toContain('bot-interrupted');
  });

  it('is answered where the bot announces something', async () => {
    const stage = await openCall({ answers });
    const text = `Shall I come over? ${rest}`;
    stage.delivery.deliver(undefined, { from: 'Ada', text, policy: 'next_silence' });
    await stage.until(() => stage.heard().includes('window'));
    await stage.say('yes');
    await stage.until(() => stage.heard().endsWith('Done.'));
    expect(stage.types()).not.toContain('bot-interrupted');
  });

  it('ends no hold', async () => {
    const held = [
      { to: 'hold', tool: 'hold_call' },
      { result_of: 'hold_call', text: 'Sure, shall I wait? I am not in a hurry at all, so take your time.' },
      { text: 'I should not answer this.' },
    ];
    const stage = await openCall({ answers: held });
    await stage.say('Please hold the line.');
    await stage.until(() => stage.heard().includes('hurry'));
    await stage.say('yes');
    await stage.pass(10_000);
    expect(stage.heard()).toMatch(/take your time\.$/);
  });
});
