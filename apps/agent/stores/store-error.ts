/** A refusal of a store: the code is for programs, the message for the caller. */
export class StoreError extends Error {
  readonly code: 'conflict' | 'full' | 'invalid' | 'not_found' | 'not_shared';

  constructor(code: StoreError['code'], message: string) {
    super(message);
    this.name = 'StoreError';
    this.code = code;
  }
}
