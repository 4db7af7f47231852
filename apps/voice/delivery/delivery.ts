import type { Origin } from '@trunkline/identity';

/** When a notification is spoken: at once, at the next pause, or when the user asks for it. */
export type DeliveryPolicy = 'now' | 'next_silence' | 'when_asked';

/** A tool call that finished after its turn. */
export interface ToolOutcome {
  name: string;
  input: unknown;
  result: string;
  /** Where the result came from, when from outside the operator's trust. */
  origins?: readonly Origin[];
}

/** Something to tell a user that is no answer to what they just said. */
export interface Notification {
  from: string;
  text: string;
  policy: DeliveryPolicy;
  /** Where the text came from, when from outside the operator's trust. */
  origins?: readonly Origin[] | undefined;
  /** Set if the text is a tool's result: in a call the model announces it. */
  outcome?: ToolOutcome;
  /** Aborted once the user got it another way. */
  withdrawn?: AbortSignal;
  heard?(): void;
}

export interface Delivery extends Notification {
  /** What is spoken. */
  words: string;
  /** Call once, when it was heard. Until then it stays stored and is offered to the user's next session. */
  spoken(): void;
}

export interface DeliveryPort {
  /** Stores the notification until it is heard. Returns whether a session got it. */
  deliver(userId: string | undefined, notification: Notification): boolean;
}
