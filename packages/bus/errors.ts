/** What can go wrong on the bus, as names a caller can test for. */
export type BusErrorCode =
  | 'connection_failed'
  | 'connection_refused'
  | 'dead_letter_unknown'
  | 'disk_full'
  | 'durable_conflict'
  | 'durable_unknown'
  | 'engine_failed'
  | 'journal_full'
  | 'journal_in_use'
  | 'lease_lost'
  | 'message_refused'
  | 'message_too_large'
  | 'name_refused'
  | 'options_refused'
  | 'overloaded'
  | 'pattern_refused'
  | 'request_aborted'
  | 'request_timeout'
  | 'stopped'
  | 'topic_refused'
  | 'topic_not_durable'
  | 'unavailable';

/** A refusal or failure of the bus: the code is for programs, the message says what to do. */
export class BusError extends Error {
  readonly code: BusErrorCode;

  constructor(code: BusErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BusError';
    this.code = code;
  }
}

/** Thrown by a durable handler that no further attempt can help: the message becomes a dead letter at once. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
}

export function unknownDurable(name: string): BusError {
  return new BusError('durable_unknown', `No durable subscription has the name ${JSON.stringify(name)}.`);
}

export function unknownDeadLetter(id: string): BusError {
  const words = `There is no dead letter ${JSON.stringify(id)}: list them again.`;
  return new BusError('dead_letter_unknown', words);
}
