/** 16 kHz, as everywhere in recognition. */
export const sampleRate = 16_000;

/** The settings of a live transcription. */
export interface LiveSettings {
  model: string;
  /** A code such as de; the endpoint finds it out if not given. */
  language: string | undefined;
}

/** A published format of live transcription over a WebSocket. */
export interface LiveWire {
  name: 'realtime' | 'deepgram';
  /** Path and query below STT_URL. */
  path(settings: LiveSettings): string;
  headers(apiKey: string | undefined): Record<string, string>;
  /** Starts to talk on an open connection. */
  start(settings: LiveSettings, send: (message: string | Uint8Array<ArrayBuffer>) => void): LiveWireSession;
}

/** Stands for an utterance within a session. */
export type UtteranceKey = object;

/** What is said and heard on one connection; utterances follow each other on it. */
export interface LiveWireSession {
  push(key: UtteranceKey, samples: Float32Array): void;
  /** Asks for the final text of all that was pushed. */
  flush(key: UtteranceKey): void;
  /** Nobody waits for this utterance; its sound must not run into the next. */
  abandon(key: UtteranceKey): void;
  /** Takes a message. Throws `LiveWireError` if the endpoint refuses to go on. */
  receive(message: unknown): void;
  transcript(key: UtteranceKey): string;
  /** The text of all that was flushed is final, nothing more is expected for now, or the endpoint could not do it. */
  state(key: UtteranceKey): 'final' | 'quiet' | 'open' | 'failed';
  /** Sent while nobody speaks, for endpoints that hang up otherwise. */
  keepAlive?(): void;
  /** Said before the connection is closed. */
  goodbye?(): void;
}

/** The endpoint said in the stream what it does not accept. */
export class LiveWireError extends Error {
  readonly concernsKey: boolean;

  constructor(message: string, concernsKey = false) {
    super(message);
    this.name = 'LiveWireError';
    this.concernsKey = concernsKey;
  }
}

export function joinTexts(texts: readonly string[]): string {
  return texts
    .map((text) => text.trim())
    .filter(Boolean)
    .join(' ');
}
