import type { TurnLimits, Usage } from '@trunkline/loop';

/** What a turn and its helpers have used up so far, so that one budget holds for all of them. */
export class Spending {
  readonly #limits: TurnLimits;
  #helpers = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** The limits of the turn itself: what its helpers used is no longer there for it. */
  get limits(): TurnLimits {
    const { steps, toolTimeoutMs, turnTimeoutMs, tokens, costUsd } = this.#limits;
    const helpers = () => this.#helpers;
    return {
      steps,
      toolTimeoutMs,
      turnTimeoutMs,
      get tokens() {
        return (tokens ?? Number.POSITIVE_INFINITY) - helpers().totalTokens;
      },
      get costUsd() {
        return (costUsd ?? Number.POSITIVE_INFINITY) - helpers().costUsd;
      },
    };
  }

  /** What helpers used in all. */
  get helpers(): Usage {
    return { ...this.#helpers };
  }

  addHelper({ inputTokens, outputTokens, totalTokens, costUsd = 0 }: Usage): void {
    this.#helpers = {
      inputTokens: this.#helpers.inputTokens + inputTokens,
      outputTokens: this.#helpers.outputTokens + outputTokens,
      totalTokens: this.#helpers.totalTokens + totalTokens,
      costUsd: this.#helpers.costUsd + costUsd,
    };
  }
}
