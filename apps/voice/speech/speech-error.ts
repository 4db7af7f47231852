/** A speech component failed; the message says what to do. */
export class SpeechError extends Error {
  readonly code:
    | 'missing'
    | 'unsupported'
    | 'crashed'
    | 'timeout'
    | 'busy'
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
