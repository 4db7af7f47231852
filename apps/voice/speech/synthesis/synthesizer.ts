import type { AudioFrame } from '../audio/samples.ts';

/** Words in round brackets that a voice acts out; others are text. */
const acted =
  'laugh|laughs|laughing|chuckle|chuckles|chuckling|sigh|sighs|sighing|gasp|gasps|whisper|whispers|whispering|' +
  'shouting|screaming|crying|sobbing|pause|short pause|long pause|break|breath|breathing|clears throat|' +
  'happy|sad|angry|excited|surprised|nervous|calm|serious|sarcastic|soft tone|in a hurry tone|emphasis';

// The text of a link is followed by its address.
const square = /\[[a-z][a-z ,'-]{1,40}\](?!\()/gi;

const round = new RegExp(String.raw`\((?:${acted})\)`, 'gi');

const angled = /<\/?[a-z][^<>]{0,60}>/gi;

export interface SpeechRequest {
  text: string;
  /** As the skill names it; each backend reads it in its own way. */
  voice?: string | undefined;
  lang?: string | undefined;
  /** The skill's; the configured one if not given. */
  backend?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Text to speech. Frames carry the rate of the backend that spoke. */
export interface Synthesizer {
  readonly backend: string;
  speak(request: SpeechRequest): AsyncIterable<AudioFrame>;
  close?(): Promise<void>;
}

/** Removes the sidecar's prosody tags, which other voices would read aloud. */
export function withoutProsody(text: string): string {
  const bare = text.replace(square, ' ').replace(round, ' ').replace(angled, ' ');
  return bare
    .replace(/\s+/g, ' ')
    .replace(/\s+([,.;:!?])/g, '$1')
    .trim();
}
