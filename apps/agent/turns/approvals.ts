import { parseCheckpoint } from '@trunkline/loop';

/** A call that waits for a person's leave. */
export interface WaitingCall {
  toolCallId: string;
  name: string;
  input: unknown;
}

/** Tools that do their work only after a person has said yes. */
export interface Approvals {
  /** What to ask; undefined when the call needs no leave. */
  question(call: WaitingCall): string | undefined;
  /** Does the work or refuses it; undefined when the call needs no leave. */
  answer(call: WaitingCall, answer: string, signal: AbortSignal): Promise<string | undefined>;
}

/** The call of a stored turn that an answer goes to. */
export function waitingCall(checkpoint: unknown): WaitingCall | undefined {
  return parseCheckpoint(checkpoint).calls.find(({ result }) => result === undefined);
}
