import type { AudioFrame } from '../../speech/audio/frame.ts';
import type { SpeechRequest, Synthesizer } from '../../speech/synthesis/synthesizer.ts';

const most = 128;

/** The sound of short phrases that come up again and again, shared by all calls. */
export class PhraseBook {
  readonly #synthesizer: Synthesizer;
  readonly #sounds = new Map<string, readonly AudioFrame[]>();

  constructor(synthesizer: Synthesizer) {
    this.#synthesizer = synthesizer;
  }

  /** The same sound as the last time, or a new one that is then kept. */
  async *speak(request: SpeechRequest): AsyncGenerator<AudioFrame> {
    const { text, voice, lang, backend } = request;
    const key = JSON.stringify([text, voice, lang, backend]);
    const known = this.#sounds.get(key);
    if (known !== undefined) return yield* known;
    const frames: AudioFrame[] = [];
    for await (const frame of this.#synthesizer.speak(request)) {
      frames.push(frame);
      yield frame;
    }
    if (frames.length > 0) this.#keep(key, frames);
  }

  #keep(key: string, frames: readonly AudioFrame[]): void {
    this.#sounds.set(key, frames);
    const [oldest] = this.#sounds.keys();
    if (this.#sounds.size > most && oldest !== undefined) this.#sounds.delete(oldest);
  }
}
