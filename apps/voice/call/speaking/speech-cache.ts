import type { AudioFrame } from '../../speech/audio/frame.ts';
import type { SpeechRequest, Synthesizer } from '../../speech/synthesis/synthesizer.ts';

const most = 128;
/** A voice that stood in for another is not heard for ever. */
const keptForMs = 10 * 60_000;

interface Sound {
  frames: readonly AudioFrame[];
  madeAt: number;
}

/** The sound of short phrases that come up again and again, shared by all calls. */
export class SpeechCache {
  readonly #synthesizer: Synthesizer;
  readonly #now: () => number;
  readonly #sounds = new Map<string, Sound>();

  constructor(synthesizer: Synthesizer, now: () => number = () => performance.now()) {
    this.#synthesizer = synthesizer;
    this.#now = now;
  }

  /** The same sound as the last time, or a new one that is then kept. */
  async *speak(request: SpeechRequest): AsyncGenerator<AudioFrame> {
    const { text, voice, lang, backend } = request;
    const key = JSON.stringify([text, voice, lang, backend]);
    const known = this.#sounds.get(key);
    if (known !== undefined && this.#now() - known.madeAt < keptForMs) return yield* known.frames;
    const frames: AudioFrame[] = [];
    for await (const frame of this.#synthesizer.speak(request)) {
      frames.push(frame);
      yield frame;
    }
    if (frames.length > 0) this.#keep(key, frames);
  }

  #keep(key: string, frames: readonly AudioFrame[]): void {
    this.#sounds.delete(key);
    this.#sounds.set(key, { frames, madeAt: this.#now() });
    const [oldest] = this.#sounds.keys();
    if (this.#sounds.size > most && oldest !== undefined) this.#sounds.delete(oldest);
  }
}
