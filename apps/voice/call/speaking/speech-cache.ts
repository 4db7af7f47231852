import { BoundedMap } from '@trunkline/std';
import type { AudioFrame } from '../../speech/audio/samples.ts';
import type { SpeechRequest, Synthesizer } from '../../speech/synthesis/synthesizer.ts';
import type { Utterance } from './utterance.ts';

const mostCached = 128;
/** Then it is synthesized again: another voice may have been recorded under the same name. */
const cachedForMs = 10 * 60_000;
const mostOpenings = 512;
/** Words that so many replies have begun with are usual. */
const usualFrom = 2;
const mostPrepared = 5;

/** What replies begin with in one voice. */
export interface ReplyOpenings {
  /** A reply begins with this. */
  note(text: string): void;
  /** Replies often do, and its sound is there. */
  isReady(text: string): boolean;
}

interface CachedSpeech {
  frames: readonly AudioFrame[];
  madeAt: number;
}

/** Synthesized phrases that come up again and again, shared by all calls. */
export class SpeechCache {
  readonly #synthesizer: Synthesizer;
  readonly #now: () => number;
  readonly #sounds = new BoundedMap<string, CachedSpeech>(mostCached);
  /** How often replies have begun with these words in this voice. */
  readonly #openings = new BoundedMap<string, { text: string; voice: string; count: number }>(mostOpenings);
  /** Voices that phrases are prepared in now. */
  readonly #preparing = new Set<string>();

  constructor(synthesizer: Synthesizer, now: () => number = () => performance.now()) {
    this.#synthesizer = synthesizer;
    this.#now = now;
  }

  /** What comes up again and again is cached. */
  say({ text, cached, opening }: Utterance, request: Omit<SpeechRequest, 'text'>): AsyncIterable<AudioFrame> {
    const isUsual = opening && this.#countOf(keyOf({ ...request, text })) + 1 >= usualFrom;
    return (cached || isUsual ? this : this.#synthesizer).speak({ ...request, text });
  }

  /** Plays the cached sound, or synthesizes it and caches what the usual voice says. */
  async *speak(request: SpeechRequest): AsyncGenerator<AudioFrame> {
    const key = keyOf(request);
    const known = this.#known(key);
    if (known !== undefined) return yield* known.frames;
    const frames: AudioFrame[] = [];
    let isStandIn = false;
    const onStandIn = () => {
      isStandIn = true;
    };
    for await (const frame of this.#synthesizer.speak({ ...request, onStandIn })) {
      frames.push(frame);
      yield frame;
    }
    if (frames.length > 0 && !isStandIn) this.#sounds.set(key, { frames, madeAt: this.#now() });
  }

  /** The first words of replies in a voice, which are cached if replies often begin with them. */
  openingsIn(request: () => Omit<SpeechRequest, 'text'>): ReplyOpenings {
    return {
      note: (text) => {
        const [key, voice] = [keyOf({ ...request(), text }), voiceOf(request())];
        this.#openings.set(key, { text, voice, count: this.#countOf(key) + 1 });
      },
      isReady: (text) => {
        const key = keyOf({ ...request(), text });
        return this.#countOf(key) >= usualFrom && this.#known(key) !== undefined;
      },
    };
  }

  /** Caches phrases, and the usual openings in this voice, before anybody waits for them; stops where `isIdle` no longer holds. */
  async prepare(
    phrases: readonly string[],
    request: Omit<SpeechRequest, 'text'>,
    isIdle: () => boolean,
  ): Promise<void> {
    const voice = voiceOf(request);
    if (this.#preparing.has(voice)) return;
    this.#preparing.add(voice);
    try {
      for (const text of [...phrases, ...this.#usualOpenings(voice)]) {
        if (request.signal?.aborted || !isIdle()) return;
        for await (const _ of this.speak({ ...request, text, background: true }));
      }
    } finally {
      this.#preparing.delete(voice);
    }
  }

  #known(key: string): CachedSpeech | undefined {
    const sound = this.#sounds.get(key);
    return sound !== undefined && this.#now() - sound.madeAt < cachedForMs ? sound : undefined;
  }

  #countOf(key: string): number {
    return this.#openings.get(key)?.count ?? 0;
  }

  #usualOpenings(voice: string): string[] {
    return [...this.#openings.values()]
      .filter((opening) => opening.voice === voice && opening.count >= usualFrom)
      .toSorted((left, right) => right.count - left.count)
      .slice(0, mostPrepared)
      .map(({ text }) => text);
  }
}

function keyOf(request: SpeechRequest): string {
  return JSON.stringify([request.text, voiceOf(request)]);
}

function voiceOf({ voice, lang, backend }: Omit<SpeechRequest, 'text'>): string {
  return JSON.stringify([voice, lang, backend]);
}
