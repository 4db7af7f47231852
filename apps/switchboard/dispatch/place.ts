import type { Place } from './executor.ts';
import type { Lane } from './lane.ts';

const left = new Error('The place was left.');

/** A place in a lane that is held while its holder works, and given to others while it waits for another agent. */
export class LanePlace implements Place {
  readonly #lane: Lane;
  readonly #over = new AbortController();
  #isHeld = true;
  #delegations = 0;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  async lend<Answer>(signal: AbortSignal, wait: () => Promise<Answer>): Promise<Answer> {
    this.#delegations += 1;
    this.#giveBack();
    try {
      return await wait();
    } finally {
      this.#delegations -= 1;
      if (this.#delegations === 0) await this.#takeAgain(signal);
    }
  }

  leave(): void {
    this.#over.abort(left);
    this.#giveBack();
  }

  /** Who no longer waits for its answer works on at once, and is counted. */
  async #takeAgain(signal: AbortSignal): Promise<void> {
    const { signal: over } = this.#over;
    if (over.aborted) return;
    const isIn = await this.#lane.enter(AbortSignal.any([over, signal]), { isBack: true }).catch(() => false);
    if (!isIn && !over.aborted) this.#lane.force();
    this.#isHeld = isIn || !over.aborted;
    if (over.aborted) this.#giveBack();
  }

  #giveBack(): void {
    if (this.#isHeld) this.#lane.leave();
    this.#isHeld = false;
  }
}
