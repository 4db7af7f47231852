/** A speech component failed; the message says what to do. */
export class SpeechError extends Error {
  readonly code:
    | 'missing'
    | 'unsupported'
    | 'crashed'
    | 'timeout'
    | 'busy'
    /** A guess that was given up for work that somebody waits for. */
    | 'dropped'
    /** A voice that cannot keep up leaves the rest to another. */
    | 'behind'
    | 'unreachable'
    | 'refused'
    | 'unreadable'
    | 'closed';

  constructor(code: SpeechError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SpeechError';
    this.code = code;
  }
}
