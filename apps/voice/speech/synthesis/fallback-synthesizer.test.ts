import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loggerInto } from '../speech.suite.ts';
import { SpeechError } from '../speech-error.ts';
import { SpeechWarnings } from '../warnings.ts';
import { createFallbackSynthesizer } from './fallback-synthesizer.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

type Behaviour = 'fine' | 'down' | 'busy' | 'stalls' | 'silent' | 'cut' | 'endless';

/** A backend that says the same loudness all along, so that it is known who spoke. */
class Scripted implements Synthesizer {
  readonly backend: string;
  readonly #loudness: number;
  behaviour: Behaviour = 'fine';
  readonly asked: SpeechRequest[] = [];
  abandoned = 0;

  constructor(backend: string, loudness: number) {
    this.backend = backend;
    this.#loudness = loudness;
  }

  async *speak(request: SpeechRequest) {
    this.asked.push(request);
    const frame = { samples: new Int16Array(16_000).fill(this.#loudness), sampleRate: 16_000 };
    request.signal?.addEventListener('abort', () => {
      this.abandoned += 1;
    });
    if (this.behaviour === 'down') throw new Error(`${this.backend} is down`);
    if (this.behaviour === 'busy') throw new SpeechError('busy', 'too much to do');
    if (this.behaviour === 'stalls') await new Promise(() => undefined);
    if (this.behaviour === 'silent') return;
    while (this.behaviour === 'endless' && this.abandoned === 0) yield frame;
    yield frame;
    yield frame;
    if (this.behaviour === 'cut') throw new Error('the line broke');
    yield frame;
  }

  close = async () => undefined;
}

function setUp({ isRemote = false } = {}) {
  const logged: string[] = [];
  const clock = { now: 0 };
  const warnings = new SpeechWarnings(loggerInto(logged), () => clock.now);
  const [first, second] = [new Scripted('first', 1), new Scripted('second', 2)];
  const synthesizer = createFallbackSynthesizer({
    backend: 'first',
    order: () => [first, second],
    timeoutMs: () => 300,
    isRemote: () => isRemote,
    warnings,
    now: () => clock.now,
    close: async () => undefined,
  });
  onTestFinished(() => synthesizer.close());
  const hear = async (request: SpeechRequest) => {
    const heard: number[] = [];
    for await (const { samples } of synthesizer.speak(request)) heard.push(samples[0] ?? 0);
    return heard;
  };
  const say = (text: string, signal?: AbortSignal) => hear({ text, signal });
  const prepare = () => hear({ text: 'Okay.', background: true });
  return { synthesizer, first, second, say, prepare, warnings, logged, clock };
}

describe('a backend that fails', () => {
  it.each(['down', 'stalls', 'silent'] as const)(
    '(%s) is followed by one that works, with a warning',
    async (behaviour) => {
      const { first, second, say, warnings, logged } = setUp();
      first.behaviour = behaviour;
      expect(await say('Hello there.')).toEqual([2, 2, 2]);
      expect(second.asked[0]?.text).toBe('Hello there.');
      expect(warnings.texts).toEqual([
        expect.stringMatching(/^first does not speak: .*\(second speaks instead\)$/),
      ]);
      expect(logged).toEqual(warnings.texts);
    },
  );

  it('is left out at once by those who come after, and warned of once a minute', async () => {
    const { first, say, logged, clock } = setUp();
    first.behaviour = 'down';
    await say('One.');
    await say('Two.');
    expect(first.asked).toHaveLength(1);
    clock.now = 61_000;
    await say('Three.');
    await vi.waitFor(() => expect(first.asked).toHaveLength(2));
    await vi.waitFor(() => expect(logged).toHaveLength(2));
  });

  it('comes back by itself when it works again, while nobody waits for the trial', async () => {
    const { first, say, warnings, logged, clock } = setUp();
    first.behaviour = 'down';
    await say('One.');
    first.behaviour = 'fine';
    clock.now = 6000;
    expect(await say('Two.')).toEqual([2, 2, 2]);
    await vi.waitFor(() => expect(warnings.texts).toEqual([]));
    expect(logged.at(-1)).toBe('first speaks again');
    expect(await say('Three.')).toEqual([1, 1, 1]);
  });

  it('in the middle is followed by the next for the rest of the text', async () => {
    const { first, second, say } = setUp();
    first.behaviour = 'cut';
    const text = 'This is the first clause, and this is the second one, which is never heard from the first.';
    expect(await say(text)).toEqual([1, 1, 2, 2, 2]);
    expect(second.asked[0]?.text).toBe('and this is the second one, which is never heard from the first.');
  });

  it('that gives sound without an end is left, with a warning', async () => {
    const { first, second, synthesizer, warnings } = setUp();
    first.behaviour = 'endless';
    let seconds = 0;
    for await (const { samples, sampleRate } of synthesizer.speak({ text: 'Hello there.' })) {
      seconds += samples.length / sampleRate;
      if (seconds > 600) break;
    }
    expect(seconds).toBeLessThan(60);
    expect(second.asked).toEqual([]);
    expect(warnings.texts).toEqual([expect.stringMatching(/^first does not speak: .*without an end/)]);
  });

  it('at the very end is followed by nobody', async () => {
    const { first, second, say } = setUp();
    first.behaviour = 'cut';
    expect(await say('Short.')).toEqual([1, 1]);
    expect(second.asked).toEqual([]);
  });

  it('is told of when nothing else works either', async () => {
    const { first, second, say, warnings } = setUp();
    first.behaviour = 'down';
    second.behaviour = 'down';
    await expect(say('Hello.')).rejects.toThrow('first is down');
    expect(warnings.texts).toHaveLength(2);
    second.behaviour = 'fine';
    expect(await say('Hello.')).toEqual([2, 2, 2]);
  });
});

describe('a request that nobody waits for', () => {
  it('is spoken by the usual backend or by none, and blames nobody', async () => {
    const { first, second, say, prepare, warnings } = setUp();
    expect(await prepare()).toEqual([1, 1, 1]);
    first.behaviour = 'down';
    await expect(prepare()).rejects.toThrow('first is down');
    expect([warnings.texts, second.asked]).toEqual([[], []]);
    expect(await say('Hello.')).toEqual([2, 2, 2]);
    expect(await prepare()).toEqual([]);
  });

  it('is spoken by no remote backend', async () => {
    const { first, second, say, prepare } = setUp({ isRemote: true });
    expect([await prepare(), first.asked, second.asked]).toEqual([[], [], []]);
    expect(await say('Hello.')).toEqual([1, 1, 1]);
  });
});

describe('a request', () => {
  it('that is aborted blames nobody', async () => {
    const { first, second, say, warnings } = setUp();
    first.behaviour = 'stalls';
    const controller = new AbortController();
    const saying = say('Hello.', controller.signal);
    controller.abort(new Error('barge-in'));
    await expect(saying).rejects.toThrow();
    expect([warnings.texts, second.asked]).toEqual([[], []]);
  });

  it('whose reader leaves frees the backend', async () => {
    const { first, synthesizer, warnings } = setUp();
    for await (const _frame of synthesizer.speak({ text: 'Hello.' })) break;
    expect([first.abandoned, warnings.texts]).toEqual([1, []]);
  });

  it('that is under way when the voices are closed ends, and blames nobody', async () => {
    const { first, second, say, synthesizer, warnings } = setUp();
    first.behaviour = 'stalls';
    const saying = say('Hello.');
    await vi.waitFor(() => expect(first.asked).toHaveLength(1));
    const ended = expect(saying).rejects.toMatchObject({ code: 'closed' });
    await synthesizer.close();
    await ended;
    expect([warnings.texts, second.asked]).toEqual([[], []]);
  });

  it('that a backend has no time for is spoken by the next, and the first stays in use', async () => {
    const { first, say, warnings } = setUp();
    first.behaviour = 'busy';
    expect(await say('Hello.')).toEqual([2, 2, 2]);
    expect(warnings.texts).toEqual(['too much to do']);
    first.behaviour = 'fine';
    expect(await say('Hello.')).toEqual([1, 1, 1]);
  });

  it('with nothing to say asks nobody', async () => {
    const { first, say } = setUp();
    expect(await say(' ... ')).toEqual([]);
    expect(first.asked).toEqual([]);
  });

  it('is tried again in time, also when the clock is set back meanwhile', async () => {
    const passed = vi.spyOn(performance, 'now').mockReturnValue(0);
    const wall = vi.spyOn(Date, 'now').mockReturnValue(10_000_000);
    onTestFinished(() => {
      passed.mockRestore();
      wall.mockRestore();
    });
    const [first, second] = [new Scripted('first', 1), new Scripted('second', 2)];
    const synthesizer = createFallbackSynthesizer({
      backend: 'first',
      order: () => [first, second],
      timeoutMs: () => undefined,
      warnings: new SpeechWarnings(loggerInto([])),
      close: async () => undefined,
    });
    const speakers = async () => {
      const heard = new Set<number>();
      for await (const { samples } of synthesizer.speak({ text: 'Hello.' })) heard.add(samples[0] ?? 0);
      return [...heard];
    };
    first.behaviour = 'down';
    expect(await speakers()).toEqual([2]);
    first.behaviour = 'fine';
    wall.mockReturnValue(1_000_000);
    passed.mockReturnValue(6000);
    expect(await speakers()).toEqual([2]);
    await vi.waitFor(async () => expect(await speakers()).toEqual([1]));
  });
});
