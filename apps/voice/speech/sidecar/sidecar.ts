/** A voice to be saved: how it sounds, and what is said in the sound. */
interface Reference {
  id: string;
  audio: Uint8Array;
  text: string;
}

interface SpeechRequest {
  text: string;
  /** A saved voice; the sidecar's own when not given. */
  referenceId?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The speech server that clones voices. */
export interface Sidecar {
  /** 16-bit little-endian mono samples, as they are made; every chunk holds whole samples. */
  speak(request: SpeechRequest): AsyncGenerator<Uint8Array, void>;
  listReferences(signal?: AbortSignal): Promise<string[]>;
  addReference(reference: Reference, signal?: AbortSignal): Promise<void>;
  deleteReference(id: string, signal?: AbortSignal): Promise<void>;
}

/** The sidecar does not answer, or refuses. */
export class SidecarError extends Error {
  readonly code: 'unreachable' | 'timeout' | 'refused' | 'unreadable';

  constructor(code: SidecarError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SidecarError';
    this.code = code;
  }
}
