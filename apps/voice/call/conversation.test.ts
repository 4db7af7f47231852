import { ModelError } from '@trunkline/llm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';
import { recordedVoices, scriptedVoices } from '../cases/harness/voices.suite.ts';

async function openCall(setup: StageSetup = {}) {
  const stage = new Stage(setup);
  onTestFinished(() => stage.close());
  await stage.call();
  return stage;
}

describe('a conversation', () => {
  it('says that it is ready when the page is', async () => {
    const stage = await openCall();
    stage.caller.tell({ type: 'client-ready', id: '7' });
    expect(stage.caller.received[0]?.message).toMatchObject({ type: 'bot-ready', id: '7' });
  });

  it('tells the silence that the caller really heard', async () => {
    const stage = await openCall({
      answers: [{ text: 'It is Paris.', after: 700 }],
      behavior: { micro_ack: false },
    });
    await stage.say('What is the capital of France?');
    const [silentAt, { speaker }] = [stage.clock.now(), stage.caller];
    let heardAt = 0;
    speaker.onNextSound(() => {
      heardAt = stage.clock.now();
    });
    await stage.until(() => stage.types().includes('metrics'));
    const metrics = stage.caller.received.find(({ message }) => message.type === 'metrics')?.message.data;
    const { voice_to_voice_ms: told } = metrics as { voice_to_voice_ms: number };
    expect(heardAt - silentAt).toBeGreaterThan(700);
    // Speech is looked at in windows of 32 ms.
    expect(Math.abs(told - (heardAt - silentAt))).toBeLessThanOrEqual(40);
  });

  it('tells when the speech was there that was said, not a guess that was dropped', async () => {
    const stage = await openCall({
      answers: [{ text: 'It is sunny here today.', after: 700, every: 400 }],
      behavior: { micro_ack: false },
    });
    await stage.say('How is the weather?');
    await stage.until(() => stage.heard() === 'It is sunny here today.');
    const metrics = stage.caller.received.find(({ message }) => message.type === 'metrics')?.message.data;
    const { turn } = metrics as { turn: { first_speech_ms: number; first_packet_ms: number } };
    expect(turn.first_packet_ms - turn.first_speech_ms).toBeLessThan(400);
  });

  it('notes on the page that older messages made room, and answers', async () => {
    const stage = await openCall({ answers: [{ text: 'Fine.' }] });
    for (const text of ['One?', 'Two?', 'Three?', 'Four?']) {
      const before = stage.caller.texts('bot-tts-text').length;
      await stage.say(text);
      await stage.until(() => stage.caller.texts('bot-tts-text').length > before);
      await stage.pass(1500);
    }
    const { model } = stage.model;
    const { doStream } = model;
    model.doStream = async () => {
      model.doStream = doStream;
      throw new ModelError('context-too-long');
    };
    const before = stage.caller.texts('bot-tts-text').length;
    await stage.say('Five?');
    await stage.until(() => stage.caller.texts('bot-tts-text').length > before);
    const notes = stage.caller.received.flatMap(({ message }) =>
      message.type === 'server-message' ? [message.data] : [],
    );
    expect(notes[0]).toEqual({
      type: 'note',
      text: expect.stringMatching(/^Earlier messages were summarised/),
    });
  });

  it('tells the page of every step of a turn, in order', async () => {
    const tools = { lookup: { takes: 200, result: 'sunny' } };
    const answers = [
      { to: 'weather', text: 'Let me look.', tool: 'lookup' },
      { result_of: 'lookup', text: 'It is sunny.' },
    ];
    const stage = await openCall({ answers, tools });
    await stage.say('What is the weather?');
    await stage.until(() => stage.heard().endsWith('sunny.'));
    await stage.pass(1000);
    const types = stage.types();
    const order = [
      'user-started-speaking',
      'user-transcription',
      'user-stopped-speaking',
      'bot-llm-started',
      'bot-llm-text',
      'llm-function-call-started',
      'llm-function-call-stopped',
      'bot-llm-stopped',
      'bot-stopped-speaking',
    ];
    const places = order.map((type) => types.indexOf(type));
    expect(places).toEqual(places.toSorted((left, right) => left - right));
    expect(places).not.toContain(-1);
    expect(types).toEqual(expect.arrayContaining(['bot-started-speaking', 'bot-tts-text', 'metrics']));
    const { data } = stage.caller.received.find(({ message }) => message.type === 'metrics')?.message ?? {};
    expect(data).toMatchObject({
      voice_to_voice_ms: expect.any(Number),
      turn: { end_of_utterance_ms: expect.any(Number), first_packet_ms: expect.any(Number) },
      p50: { first_token_ms: expect.any(Number) },
      p95: { first_speech_ms: expect.any(Number) },
      turns: 1,
    });
    expect(stage.latency.summary().turns).toBe(1);
  });

  it('begins an answer before the turn is certain, and uses its tools only after', async () => {
    const tools = { lookup: { takes: 10, result: 'sunny' } };
    const answers = [
      { to: 'weather', tool: 'lookup', after: 20 },
      { result_of: 'lookup', text: 'It is sunny.' },
    ];
    const stage = await openCall({ answers, tools });
    await stage.say('What is the weather in Rome');
    await stage.until(() => stage.model.prompts.length > 0);
    const askedAt = stage.clock.now();
    await stage.until(() => stage.ran.length > 0);
    const over =
      stage.caller.received.find(({ message }) => message.type === 'user-stopped-speaking')?.at ?? 0;
    expect(askedAt).toBeLessThan(over);
    expect(stage.ran[0]?.at).toBeGreaterThanOrEqual(over);
  });

  describe('with a model that takes a short silence for the end of the turn', () => {
    const voices: StageSetup['voices'] = (clock) => {
      const scripted = scriptedVoices(clock);
      return {
        ...scripted,
        speech: { ...scripted.speech, openTurnDetector: async () => ({ judge: async () => 0.9 }) },
      };
    };

    it('generates the answer while the silence is no pause yet', async () => {
      const answers = [{ text: 'It is sunny all day long.', after: 50, every: 1 }];
      const stage = await openCall({ voices, answers });
      await stage.say('What is the weather in Rome?');
      await stage.until(() => stage.model.prompts.length > 0);
      expect(stage.states.at(-1)).toBe('listening');
      await stage.until(() => stage.heard().startsWith('It is sunny'));
      const { end_of_utterance_ms: end, first_packet_ms: packet } = stage.latency.summary().p50;
      expect([stage.model.prompts.length, (packet ?? Infinity) - (end ?? 0) < 20]).toEqual([1, true]);
    });

    it('throws it away where the caller goes on', async () => {
      const stage = await openCall({ voices, answers: [{ text: 'It is sunny all day long.' }] });
      await stage.say('What is the weather');
      await stage.until(() => stage.model.prompts.length > 0);
      await stage.say('in the hills of Rome?');
      await stage.until(() => stage.heard().startsWith('It is sunny'));
      expect([stage.model.prompts.length, stage.model.abandoned()]).toEqual([2, 1]);
      expect(stage.caller.texts('user-transcription').at(-1)).toBe(
        'What is the weather in the hills of Rome?',
      );
    });
  });

  it('has an answer ready when a long silence ends a turn that seemed unfinished', async () => {
    const stage = await openCall({ answers: [{ text: 'Sunny all day long.', after: 300 }] });
    await stage.say('What is the weather in');
    await stage.until(() => stage.heard() !== '');
    const { latency } = stage;
    const { end_of_utterance_ms: end, first_packet_ms: packet } = latency.summary().p50;
    expect(end).toBeGreaterThanOrEqual(1700);
    expect((packet ?? Infinity) - (end ?? 0)).toBeLessThan(100);
  });

  it('keeps an early answer for the end of a turn with many pauses to think', async () => {
    const stage = await openCall({ answers: [{ text: 'Sunny all day long.' }] });
    for (const thought of ['Tell me about', 'the weather in', 'the hills and in', 'the valley or maybe']) {
      await stage.say(thought);
      await stage.pass(1000);
    }
    const { prompts } = stage.model;
    expect(prompts).toHaveLength(2);
    await stage.say('in the city of Rome.');
    await stage.until(() => prompts.length > 2);
    expect(stage.states.at(-1)).toBe('endpointing');
    await stage.until(() => stage.heard().startsWith('Sunny'));
    expect([prompts.length, stage.caller.texts('user-transcription').at(-1)]).toEqual([
      3,
      'Tell me about the weather in the hills and in the valley or maybe in the city of Rome.',
    ]);
  });

  it('synthesizes what fills a wait, and usual openings, when the call begins', async () => {
    const { voices, made } = recordedVoices();
    const answers = [
      { text: 'As you may know, the museum opens at nine every day of the week.', after: 1500 },
    ];
    const stage = await openCall({ answers, voices });
    for (let turn = 0; turn < 3; turn += 1) {
      const before = made.filter(({ text }) => text === 'As you may know,').length;
      await stage.pass(500);
      await stage.say('When do you open?');
      await stage.until(() => stage.heard().split('week.').length === turn + 2);
      await stage.pass(500);
      expect(made.filter(({ text }) => text === 'As you may know,').length - before).toBe(turn < 2 ? 1 : 0);
    }
    const okay = made.filter(({ text }) => text === 'Okay.');
    expect(okay).toEqual([{ text: 'Okay.', at: 0 }]);
    expect(stage.heard()).toMatch(/^Okay\. As you may know, the museum opens at nine/);
  });

  it('shows the model the whole conversation, and nothing that was not heard', async () => {
    const answers = [
      {
        to: 'story',
        text: 'Once upon a time there was a king, and he lived in a castle far away from here.',
      },
      { to: 'stop', text: 'Okay.' },
    ];
    const stage = await openCall({ answers });
    await stage.say('Tell me a story.');
    await stage.until(() => stage.heard().includes('king,'));
    await stage.say('Please stop that.');
    await stage.until(() => stage.heard().endsWith('Okay.'));
    const last = JSON.stringify(stage.model.prompts.at(-1));
    expect(last).toContain('Once upon a time');
    expect(last).not.toContain('castle');
  });

  it.each([
    ['prepared before the turn was certain', { after: 10, every: 1 }],
    ['made after it', { after: 700 }],
  ])('remembers of an answer %s, whose clauses wait, what was heard', async (_when, speakingRate) => {
    const text =
      'Alpha bravo charlie delta echo foxtrot golf hotel. Then came india. Then came juliet. The end.';
    const stage = await openCall({ answers: [{ to: 'letters', text, ...speakingRate }, { text: 'Okay.' }] });
    await stage.say('Tell me a story about letters');
    await stage.until(() => stage.heard().includes('bravo'));
    await stage.say('Please stop that.');
    await stage.until(() => stage.types().includes('bot-interrupted'));
    const [, answer] = stage.memory.recall('default', 'default');
    expect(stage.heard()).toContain(answer?.content);
    expect(answer?.content).toMatch(/^Alpha bravo/);
  });

  it('answers a written message without a sound when the page wants none', async () => {
    const stage = await openCall();
    stage.caller.tell({ type: 'send-text', data: { content: 'Hello', options: { audio_response: false } } });
    await stage.until(() => stage.types().includes('bot-llm-stopped'));
    await stage.pass(1000);
    expect([stage.caller.texts('bot-llm-text').join(''), stage.caller.speaker.playedMs]).toEqual([
      'Fine.',
      0,
    ]);
    expect(JSON.stringify(stage.memory.recall('default', 'default'))).toContain('Fine.');
  });

  it('lets a written message wait that is in no hurry', async () => {
    const answers = [
      { to: 'first', text: 'This is the first answer of the two.' },
      { to: 'second', text: 'And this the second.' },
    ];
    const stage = await openCall({ answers });
    stage.caller.tell({ type: 'send-text', data: { text: 'first' } });
    await stage.until(() => stage.heard().includes('first'));
    stage.caller.tell({
      type: 'send-text',
      data: { content: 'second', options: { run_immediately: false } },
    });
    await stage.until(() => stage.heard().endsWith('second.'));
    expect(stage.heard()).toBe('This is the first answer of the two. And this the second.');
  });

  it('keeps a bounded part of what is written while it speaks', async () => {
    const stage = await openCall({
      answers: [{ to: 'first', text: 'This is the first answer.' }, { text: 'Okay.' }],
    });
    stage.caller.tell({ type: 'send-text', data: { content: 'first' } });
    await stage.until(() => stage.heard() !== '');
    const data = { content: 'x'.repeat(8000), options: { run_immediately: false } };
    for (let count = 0; count < 50; count += 1) stage.caller.tell({ type: 'send-text', data });
    await stage.until(() => stage.model.prompts.length > 1);
    expect(JSON.stringify(stage.model.prompts.at(-1)).length).toBeLessThan(10_000);
  });

  it('ends when the page asks for it, and leaves nothing behind', async () => {
    const stage = await openCall({
      answers: [{ text: 'A long answer that goes on for quite a while, I think.' }],
    });
    expect(stage.sessions.size).toBe(1);
    await stage.say('Tell me something.');
    await stage.until(() => stage.heard() !== '');
    stage.caller.tell({ type: 'disconnect-bot' });
    await stage.clock.advanceBy(1000);
    expect([stage.caller.isClosed, stage.sessions.size, stage.clock.pendingTimers]).toEqual([true, 0, 0]);
    stage.caller.tell({ type: 'send-text', data: { content: 'Are you there?' } });
    await stage.clock.advanceBy(1000);
    expect(stage.model.prompts).toHaveLength(1);
  });

  it.each([{}, { content: '' }, { content: 7 }, 'text', null])(
    'takes no notice of a message with %j',
    async (data) => {
      const stage = await openCall();
      stage.caller.tell({ type: 'send-text', data });
      stage.caller.tell({ type: 'unheard-of', data });
      await stage.pass(500);
      expect(stage.model.prompts).toEqual([]);
    },
  );

  it('gives up a model that hangs, and can be asked again', async () => {
    const answers = [
      { to: 'hang', text: 'x', after: 100_000 },
      { to: 'again', text: 'Here I am.' },
    ];
    const stage = await openCall({ answers, behavior: { micro_ack: false } });
    await stage.say('Please hang.');
    await stage.until(() => stage.heard().includes('stuck'));
    expect(stage.clock.now()).toBeLessThan(35_000);
    await stage.pass(5000);
    await stage.say('Now again please.');
    await stage.until(() => stage.heard().endsWith('Here I am.'));
  });

  it('synthesizes the first words while those that follow are being written', async () => {
    const { made, voices } = recordedVoices();
    const answers = [
      { to: 'capital', text: 'The capital of France is Paris and it lies on a river.', every: 400 },
      { to: 'weather', text: 'It is sunny here today. Bye.', every: 400 },
    ];
    const stage = await openCall({ answers, voices, behavior: { micro_ack: false } });
    const ask = async (question: string) => {
      made.length = 0;
      const [sentBefore, wordsBefore] = [
        stage.caller.received.length,
        stage.caller.texts('bot-tts-text').length,
      ];
      await stage.say(question);
      const words = () => stage.caller.texts('bot-tts-text').slice(wordsBefore).join(' ');
      await stage.until(() => /(river|Bye)\.$/.test(words()));
      await stage.pass(1000);
      const sent = stage.caller.received.slice(sentBefore);
      const atOf = (wanted: string) => sent.find(({ message }) => message.type === wanted)?.at ?? Number.NaN;
      const wordsUntil = (at: number) => Math.round((at - atOf('bot-llm-started')) / 400);
      return {
        texts: made.map(({ text }) => text),
        synthesizedAfter: wordsUntil(made[0]?.at ?? Number.NaN),
        heardAfter: wordsUntil(atOf('bot-started-speaking')),
        words: words(),
      };
    };
    const first = await ask('What is the capital?');
    expect(first).toMatchObject({ synthesizedAfter: 4, heardAfter: 6 });
    // Where the sentence ends soon the guess was wrong, and nothing of it is heard.
    const short = await ask('How is the weather?');
    expect(short.texts.slice(0, 2)).toEqual(['It is sunny', 'It is sunny here today.']);
    expect(short.words).toBe('It is sunny here today. Bye.');
    await ask('And what is the capital?');
    // A usual opening is heard before two words more are there.
    expect(await ask('So what is the capital?')).toMatchObject({ heardAfter: 4, words: first.words });
  });

  it('goes on by text when the voice fails', async () => {
    const voices = (clock: Stage['clock']) => {
      const scripted = scriptedVoices(clock);
      const synthesizer = {
        ...scripted.speech.synthesizer,
        // biome-ignore lint/correctness/useYield: a voice that fails before its first sound
        async *speak(): AsyncGenerator<never> {
          throw new Error('no voice is installed');
        },
      };
      return { ...scripted, speech: { ...scripted.speech, synthesizer } };
    };
    const stage = await openCall({ voices });
    await stage.say('Hello there.');
    await stage.until(() => stage.types().includes('error'));
    await stage.pass(500);
    const error = stage.caller.received.find(({ message }) => message.type === 'error')?.message.data;
    expect(error).toEqual({ message: 'I cannot speak at the moment: no voice is installed', fatal: false });
    await stage.say('Are you there?');
    await stage.until(() => stage.caller.texts('bot-llm-text').length === 2);
    expect(JSON.stringify(stage.model.prompts.at(-1))).toContain('Fine.');
  });

  it('goes on by text when nobody can be heard', async () => {
    const voices = (clock: Stage['clock']) => {
      const scripted = scriptedVoices(clock);
      const openDetector = () => Promise.reject(new Error('no model is installed'));
      return { ...scripted, speech: { ...scripted.speech, openDetector } };
    };
    const stage = await openCall({ voices });
    await stage.pass(100);
    expect(stage.types()).toEqual(['error']);
    stage.caller.tell({ type: 'send-text', data: { content: 'Hello' } });
    await stage.until(() => stage.heard() === 'Fine.');
  });

  it('is refused, with words, where no persona can answer', async () => {
    const persona = () => {
      throw new Error('set LLM_MODEL to the name of a model');
    };
    const stage = await openCall({ persona });
    expect(stage.caller.received.map(({ message }) => message)).toEqual([
      { type: 'error', data: { message: 'set LLM_MODEL to the name of a model', fatal: true } },
    ]);
    expect([stage.caller.isClosed, stage.sessions.size]).toEqual([true, 0]);
  });

  it('ends a turn although the microphone has gone dead in mid-sentence', async () => {
    const stage = await openCall();
    await stage.say('What is the weather in');
    await stage.clock.advanceBy(20_000);
    expect(stage.caller.texts('user-transcription').at(-1)).toBe('What is the weather in');
    expect(stage.types()).toContain('bot-llm-stopped');
  });

  it('does not take endless sound for an endless turn', async () => {
    const stage = await openCall();
    await stage.sound(stage.voices.sounds.cough(40_000));
    const types = stage.types();
    expect(types.filter((type) => type === 'user-stopped-speaking').length).toBeGreaterThan(1);
    await stage.pass(3000);
    await stage.say('Are you there?');
    await stage.until(() => stage.heard().endsWith('Fine.'));
  });

  it('keeps two callers apart', async () => {
    const stage = await openCall({
      answers: [
        { to: 'one', text: 'First.' },
        { to: 'two', text: 'Second.' },
      ],
    });
    const first = stage.caller;
    await stage.call();
    const second = stage.caller;
    first.tell({ type: 'send-text', data: { content: 'one' } });
    second.tell({ type: 'send-text', data: { content: 'two' } });
    for (let tick = 0; tick < 300; tick += 1) {
      first.pass();
      await stage.tick();
    }
    const said = (caller: typeof first) =>
      caller.received
        .filter(({ message }) => message.type === 'bot-tts-text')
        .map(({ message }) => message.data);
    expect([said(first), said(second)]).toEqual([[{ text: 'First.' }], [{ text: 'Second.' }]]);
    expect(stage.sessions.size).toBe(2);
  });
});
