/** What a call decides about whose turn it is. */
export type DecisionName =
  /** Sound is taken for a voice. */
  | 'voice-detected'
  /** The silence is not long enough yet. */
  | 'wait'
  | 'end-of-turn'
  /** A reply is generated before the turn has ended. */
  | 'draft'
  | 'draft-discarded'
  /** What was said gets no answer. */
  | 'no-answer'
  /** Speech over the bot's own is no interruption. */
  | 'ignore'
  /** The bot holds its output until there are words. */
  | 'pause'
  | 'resume'
  /** The words answer the question that the bot is asking. */
  | 'keep-answer'
  /** The words are answered later: a tool holds the floor. */
  | 'hold-floor'
  | 'interrupt'
  | 'hang-up'
  /** The call goes on in the language that was heard. */
  | 'language';

export interface Decision {
  decision: DecisionName;
  reason: string;
}

/** Reports decisions with their reasons. One that is taken again with every window of sound is reported once. */
export class DecisionLog {
  readonly #report: (decision: Decision) => void;
  readonly #known = new Set<string>();

  constructor(report: (decision: Decision) => void) {
    this.#report = report;
  }

  note(decision: DecisionName, reason: string): void {
    const key = `${decision} ${reason}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#report({ decision, reason });
  }

  /** The caller begins to speak again: the same decision is a new one. */
  renew(): void {
    this.#known.clear();
  }
}
