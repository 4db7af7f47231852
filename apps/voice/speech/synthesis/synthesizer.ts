import type { AudioFrame } from '../audio/samples.ts';
import { SpeechError } from '../speech-error.ts';

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
  /** The call that it is for: calls take turns. */
  caller?: string | undefined;
  /** Another voice speaks the rest if this one throws a `BehindError`. */
  mayHandOver?: boolean;
  /** Nobody waits for it: it takes no time from callers, costs nothing, and may give no sound. */
  background?: boolean;
  /** Called when another voice than the usual one speaks, or goes on. */
  onStandIn?(): void;
  signal?: AbortSignal | undefined;
}

/** Text to speech. Frames carry the rate of the backend that spoke. */
export interface Synthesizer {
  readonly backend: string;
  speak(request: SpeechRequest): AsyncIterable<AudioFrame>;
  /** Whether it knows the language of a request; without this it does. */
  speaks?(request: SpeechRequest): boolean;
  /** It cannot keep up with its callers now. */
  isBehind?(): boolean;
  close?(): Promise<void>;
}

/** A voice cannot keep up with its callers, and has spoken only whole sentences. */
export class BehindError extends SpeechError {
  override readonly name = 'BehindError';
  /** The sentences that it has not begun. */
  readonly rest: string;

  constructor(backend: string, rest: string) {
    super('behind', `${backend} cannot keep up with its callers`);
    this.rest = rest;
  }
}

/** Removes the sidecar's prosody tags, which other voices would read aloud. */
export function withoutProsody(text: string): string {
  const bare = text.replace(square, ' ').replace(round, ' ').replace(angled, ' ');
  return bare
    .replace(/\s+/g, ' ')
    .replace(/\s+([,.;:!?])/g, '$1')
    .trim();
}
