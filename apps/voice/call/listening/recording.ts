import { windowMs } from './voice-activity.ts';

/** What is kept from before the voice was noticed, so that the first sound is not lost. */
const leadWindows = 16;
const longestWindows = Math.ceil(45_000 / windowMs);

/** The sound of one utterance. */
export class Recording {
  #windows: Float32Array[] = [];
  #begun = false;

  /** Takes the next window; before `begin` only the newest are kept. */
  add(window: Float32Array): void {
    this.#windows.push(window);
    if (!this.#begun && this.#windows.length > leadWindows) this.#windows.shift();
  }

  begin(): void {
    this.#begun = true;
  }

  get isFull(): boolean {
    return this.#windows.length >= longestWindows;
  }

  get lengthMs(): number {
    return this.#windows.length * windowMs;
  }

  samples(): Float32Array {
    const all = new Float32Array(this.#windows.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const window of this.#windows) {
      all.set(window, at);
      at += window.length;
    }
    return all;
  }

  /** Starts over; the newest windows lead into what comes next. */
  clear(): void {
    this.#windows = this.#windows.slice(-leadWindows);
    this.#begun = false;
  }
}
