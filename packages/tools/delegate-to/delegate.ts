import type { Principal } from '@trunkline/identity';

/** Someone else who can do a part of the work: another agent, or an endpoint. */
export interface Delegate {
  /** Short and speakable; what the model chooses by. */
  name: string;
  /** One line: what it is good for. */
  description: string;
  /** How long its answers may take; that of the tool when left out. */
  timeoutMs?: number | undefined;
  /** The answer to a query; a `DelegateError` when there is none. */
  ask(query: string, context: DelegateContext): Promise<string>;
}

export interface DelegateContext {
  signal: AbortSignal;
  /** The conversation that the query belongs to. */
  sessionId: string;
  /** On whose behalf the query is asked. */
  principal?: Principal | undefined;
}

export type DelegateErrorCode =
  | 'delegate_failed'
  | 'delegate_refused'
  | 'delegate_silent'
  | 'delegate_unreachable';

/** Why a delegate gave no answer, in words that can be spoken: no addresses, no codes. */
export class DelegateError extends Error {
  readonly code: DelegateErrorCode;

  constructor(code: DelegateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DelegateError';
    this.code = code;
  }
}
