import { SpeechError } from '../speech-error.ts';

/** Does the frames of one caller one after the other; more than may wait are refused. */
export class InTurn {
  readonly #mostWaiting: number;
  #before: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  run<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#waiting >= this.#mostWaiting)
      return Promise.reject(new SpeechError('busy', 'this machine cannot keep up with the caller'));
    this.#waiting += 1;
    const turn = this.#before.then(work);
    this.#before = turn.then(this.#leave, this.#leave);
    return turn;
  }

  async settled(): Promise<void> {
    await this.#before;
  }

  readonly #leave = () => {
    this.#waiting -= 1;
  };
}
