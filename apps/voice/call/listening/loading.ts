import type { Clock } from '@trunkline/schedule';
import { Alarm } from '../clock.ts';

/** Models that stand sooner are not worth a word. */
const noticedAfterMs = 300;

export type LoadingStatus = 'speech-loading' | 'speech-ready';

/** Whether the models that listen still load: what is said meanwhile is kept, and understood once they stand. */
export class Loading {
  readonly #tell: (news: LoadingStatus) => void;
  readonly #alarm: Alarm;
  #isUnderWay = true;
  #isTold = false;

  constructor(clock: Clock, tell: (news: LoadingStatus) => void) {
    this.#alarm = new Alarm(clock);
    this.#tell = tell;
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** `models` is fulfilled once they stand, or cannot be had. */
  async follow(models: Promise<void>): Promise<void> {
    this.#alarm.set(noticedAfterMs, () => {
      this.#isTold = true;
      this.#tell('speech-loading');
    });
    await models;
    this.#isUnderWay = false;
    this.#alarm.cancel();
    if (this.#isTold) this.#tell('speech-ready');
  }

  /** Nobody is to be told any more. */
  stop(): void {
    this.#alarm.cancel();
    this.#isTold = false;
  }
}
