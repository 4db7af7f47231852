/** When something that came from outside is said: at once, when it is quiet, or when the user asks for it. */
export type DeliveryPolicy = 'now' | 'next_silence' | 'when_asked';

/** A tool call that was done when nobody waited for it any more. */
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
  /** Set where the text is the result of a tool: a call has its model put it into words. */
  outcome?: ToolOutcome;
  /** Aborted once the user got it another way. */
  withdrawn?: AbortSignal;
  /** Called once it was heard. */
  heard?(): void;
}

/** Notification on their way to a session. */
export interface Delivery extends Notification {
  /** What is said. */
  words: string;
  /** To be called once, when it was heard; until then it is kept and offered again to the user's next session. */
  spoken(): void;
}

export interface DeliveryPort {
  /** Keeps the news until they were heard; says whether a session has them now. */
  deliver(userId: string | undefined, news: Notification): boolean;
}
