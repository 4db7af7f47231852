/** The level that a quiet voice is brought up to: -34 dB of full scale. Most microphones are louder, and stay as they are. */
const target = 0.02;
const most = 30;
/** A voice stands out from the room by at least so much. */
const voiceAboveFloor = 4;
/** The room's own noise is not brought up above this. */
const loudestFloor = 0.004;
/** Digital silence, as from a muted microphone, says nothing about the room. */
const silence = 1e-5;
/** By window of 32 ms: the floor follows a room that gets louder within seconds; the gain grows tenfold in a third of a second. */
const floorRise = 1.01;
const gainRise = 1.25;
/** Shares of a louder and of a softer window in the level of the voice. */
const [attack, decay] = [0.3, 0.02];
const ceiling = 0.9;

/** Brings up the voice of a caller whose microphone is very quiet; others pass unchanged. */
export class InputGain {
  #floor = Infinity;
  #voice = 0;
  #gain = 1;

  /** Takes the next window. While the bot speaks it passes unchanged: its echo is not the caller, and would interrupt it. */
  apply(window: Float32Array, isBotSpeaking = false): Float32Array {
    if (isBotSpeaking) return window;
    const level = rms(window);
    if (level > silence) this.#learn(level);
    const loudest = window.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0);
    const wanted = Math.min(this.#wanted, this.#gain * gainRise, most);
    this.#gain = Math.max(1, Math.min(wanted, ceiling / Math.max(loudest, silence)));
    const gain = this.#gain;
    return gain === 1 ? window : window.map((sample) => sample * gain);
  }

  #learn(level: number): void {
    this.#floor = Math.min(level, this.#floor * floorRise);
    if (level < this.#floor * voiceAboveFloor) return;
    const share = this.#voice === 0 ? 1 : level > this.#voice ? attack : decay;
    this.#voice += share * (level - this.#voice);
  }

  get #wanted(): number {
    if (this.#voice === 0) return 1;
    return Math.min(target / this.#voice, loudestFloor / this.#floor);
  }
}

function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}
