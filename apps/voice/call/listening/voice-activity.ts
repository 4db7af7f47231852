export const windowMs = 32;

/** Above the first a window begins speech, above the second it goes on with it. */
const beginsAbove = 0.6;
const goesOnAbove = 0.45;
/** Speech has begun when six of the last seven windows hold voice: about 200 ms. */
const [neededWindows, lookedAtWindows] = [6, 7];
/** Gaps between syllables are shorter than this. */
const gapMs = 200;

/** Tells from the probability of each window whether somebody speaks, and for how long. */
export class VoiceActivity {
  #recent: boolean[] = [];
  #speaking = false;
  #speechMs = 0;
  #silenceMs = 0;

  get speaking(): boolean {
    return this.#speaking;
  }

  /** Length of the speech that goes on now, or of the last one. */
  get speechMs(): number {
    return this.#speaking ? this.#speechMs - this.#silenceMs : this.#speechMs;
  }

  /** Time since the last voice. */
  get silenceMs(): number {
    return this.#silenceMs;
  }

  /** Takes the next window; true when speech has begun with it. */
  accept(probability: number): boolean {
    const voiced = probability >= (this.#speaking ? goesOnAbove : beginsAbove);
    this.#recent = [...this.#recent, voiced].slice(-lookedAtWindows);
    if (voiced) this.#silenceMs = 0;
    else this.#silenceMs += windowMs;
    return this.#speaking ? this.#goOn() : this.#begin();
  }

  reset(): void {
    this.#recent = [];
    this.#speaking = false;
    this.#speechMs = 0;
    this.#silenceMs = 0;
  }

  #goOn(): boolean {
    this.#speechMs += windowMs;
    if (this.#silenceMs < gapMs) return false;
    this.#speaking = false;
    this.#speechMs -= this.#silenceMs;
    return false;
  }

  #begin(): boolean {
    const voiced = this.#recent.filter(Boolean).length;
    if (voiced < neededWindows || this.#silenceMs > 0) return false;
    this.#speaking = true;
    this.#speechMs = voiced * windowMs;
    return true;
  }
}

/** What is kept from before the voice was noticed, so that the first sound is not lost. */
const leadWindows = 16;
const longestWindows = Math.ceil(45_000 / windowMs);

/** The sound of one utterance. */
export class Recording {
  #windows: Float32Array[] = [];
  #started = false;

  /** Takes the next window; before `start` only the newest are kept. */
  add(window: Float32Array): void {
    this.#windows.push(window);
    if (!this.#started && this.#windows.length > leadWindows) this.#windows.shift();
  }

  start(): void {
    this.#started = true;
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
    this.#started = false;
  }
}
