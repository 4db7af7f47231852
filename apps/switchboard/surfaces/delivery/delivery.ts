import type { Message } from '@trunkline/bus';

/** A message on its way out, as the surface that sends it sees it. */
export interface DeliveryAttempt {
  message: Message;
  /** Aborted when an attempt takes too long, or the switchboard stops. */
  signal: AbortSignal;
  /** The parts that earlier attempts brought over: they are not sent again. */
  done: readonly string[];
  /** Tells that one more part arrived, under this name. */
  arrived(reference: string): void;
}

/** Brings a message over, or throws. */
export type Send = (attempt: DeliveryAttempt) => Promise<void>;

export interface DeliveryErrorOptions extends ErrorOptions {
  /** Trying again cannot help: the other side refused it, or there is no such place. */
  permanent?: boolean;
  /** When the other side wants to be asked again. */
  retryAfterMs?: number | undefined;
}

/** An attempt that failed, and whether another may succeed. */
export class DeliveryError extends Error {
  readonly permanent: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { permanent = false, retryAfterMs, ...options }: DeliveryErrorOptions = {}) {
    super(message, options);
    this.name = 'DeliveryError';
    this.permanent = permanent;
    this.retryAfterMs = retryAfterMs;
  }
}
