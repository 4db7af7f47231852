import { History, type HistoryDeps } from './history.ts';
import type { Memory } from './memory.ts';

interface HistoriesDeps extends Pick<HistoryDeps, 'summariser' | 'logger'> {
  memory: Memory;
}

interface OpenHistory {
  history: History;
  calls: number;
}

/**
 * One history for all calls of a user with a skill: a line that broke is often noticed only when the caller is back on
 * another one, and neither may write over what the other has kept.
 */
export class Histories {
  readonly #deps: HistoriesDeps;
  readonly #open = new Map<string, OpenHistory>();

  constructor(deps: HistoriesDeps) {
    this.#deps = deps;
  }

  /** For one call; `release` is to be called once, when it is over. */
  open(userId: string, skill: string): { history: History; release(): void } {
    const key = JSON.stringify([userId, skill]);
    const shared = this.#open.get(key) ?? { history: this.#recall(userId, skill), calls: 0 };
    shared.calls += 1;
    this.#open.set(key, shared);
    return { history: shared.history, release: () => this.#release(key, shared) };
  }

  #release(key: string, shared: OpenHistory): void {
    shared.calls -= 1;
    if (shared.calls > 0) return;
    this.#open.delete(key);
    shared.history.close();
  }

  #recall(userId: string, skill: string): History {
    const { memory, summariser, logger } = this.#deps;
    return new History({
      earlier: memory.recall(userId, skill),
      keep: (messages) => memory.keep(userId, skill, messages),
      summariser,
      logger,
    });
  }
}
