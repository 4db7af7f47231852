/** When a notification is spoken: at once, at the next pause, or when the user asks for it. */
export type DeliveryPolicy = 'now' | 'next_silence' | 'when_asked';

/** A tool call that finished when nobody waited for it any more. */
export interface ToolOutcome {
  name: string;
  input: unknown;
  result: string;
}

/** Something to tell a user that they did not just ask for. */
export interface Notification {
  from: string;
  text: string;
  policy: DeliveryPolicy;
  /** Set where the text is a tool's result: in a call the model puts it into words. */
  outcome?: ToolOutcome;
  /** Aborted once the user got it another way. */
  withdrawn?: AbortSignal;
  /** Called once it was heard. */
  heard?(): void;
}

/** A notification on its way to a session. */
export interface Delivery extends Notification {
  /** What is spoken. */
  words: string;
  /** To be called once, when it was heard; until then it is stored and offered again to the user's next session. */
  spoken(): void;
}

export interface DeliveryPort {
  /** Stores the notification until it is heard. Returns whether a session has it now. */
  deliver(userId: string | undefined, notification: Notification): boolean;
}
