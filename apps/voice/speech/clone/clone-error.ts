/** A clone that was refused or failed, in words for whoever uploaded it. */
export class CloneError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CloneError';
  }
}
