/** A part of speech does not work; the words say what to do. */
export class SpeechError extends Error {
  readonly code:
    | 'missing'
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
