/** A refusal of a store: the code is for programs, the words are for whoever asked. */
export class StoreError extends Error {
  readonly code: 'conflict' | 'invalid' | 'not_found' | 'not_shared';

  constructor(code: StoreError['code'], message: string) {
    super(message);
    this.name = 'StoreError';
    this.code = code;
  }
}
