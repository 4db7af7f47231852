import type { AudioFrame } from '../audio/frame.ts';

export interface SpeechRequest {
  text: string;
  /** As the skill names it; each backend reads it in its own way. */
  voice?: string | undefined;
  lang?: string | undefined;
  /** The one that the skill names; the configured one when not given. */
  backend?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Text to speech. The frames name the rate of the backend that really spoke. */
export interface Synthesizer {
  readonly backend: string;
  speak(request: SpeechRequest): AsyncIterable<AudioFrame>;
  close(): Promise<void>;
}
