/** When something that came from outside is said: at once, when it is quiet, or when the user asks for it. */
export type DeliveryPolicy = 'now' | 'next_silence' | 'when_asked';

/** Something to tell a user that they did not just ask for. */
export interface News {
  from: string;
  text: string;
  policy: DeliveryPolicy;
}

/** News on their way to a session. */
export interface Delivery extends News {
  /** What is said. */
  words: string;
  /** To be called once it was heard; until then it is kept and offered again to the user's next session. */
  spoken(): void;
}

export interface DeliveryPort {
  /** Keeps the news until they were heard; says whether a session has them now. */
  deliver(userId: string | undefined, news: News): boolean;
}
