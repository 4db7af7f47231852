// Recordings as a microphone hears them: noise of a level, a room with echoes, a telephone line. The same in every run.
import { whiteNoise, wordless } from './sounds.suite.ts';

const rate = 16_000;

export type NoiseKind = 'hiss' | 'babble' | 'music' | 'kitchen';

/** A voice with noise behind it that is so many decibels softer. Other voices make the babble. */
export function inNoise(
  voice: Float32Array,
  kind: NoiseKind,
  decibels: number,
  others: readonly Float32Array[] = [],
): Float32Array {
  const noise = noises[kind](voice.length, others);
  const gain = (loudness(voice) / Math.max(1e-9, rms(noise))) * 10 ** (-decibels / 20);
  return voice.map((sample, index) => sample + gain * (noise[index] ?? 0));
}

const noises: Record<NoiseKind, (length: number, others: readonly Float32Array[]) => Float32Array> = {
  hiss: (length) => whiteNoise(length / rate + 1, 1),
  music: (length) => looped(wordless.music ?? new Float32Array(1), length),
  babble: (length, others) => {
    const sum = new Float32Array(length);
    for (const [turn, other] of others.entries()) {
      const gain = 1 / Math.max(1e-9, loudness(other));
      for (let index = 0; index < length; index += 1)
        sum[index] = (sum[index] ?? 0) + gain * (other[(index + turn * 7919) % other.length] ?? 0);
    }
    return sum;
  },
  // Water that runs, and dishes: bursts of high tones that ring for some tens of milliseconds.
  kitchen: (length) => {
    const water = whiteNoise(length / rate + 1, 1);
    const sound = new Float32Array(length);
    let before = 0;
    for (let index = 0; index < length; index += 1) {
      before = 0.7 * before + 0.3 * (water[index] ?? 0);
      sound[index] = 0.3 * before;
    }
    for (let hit = 0, at = 900; at < length; hit += 1, at += 2400 + ((hit * 3571) % 5200))
      for (let index = 0; index < 2400 && at + index < length; index += 1) {
        const second = index / rate;
        const ring = [1900, 3100, 4700].map((tone) => Math.sin(2 * Math.PI * (tone + 97 * hit) * second));
        const sum = ring.reduce((total, each) => total + each, 0);
        sound[at + index] = (sound[at + index] ?? 0) + 0.5 * Math.exp(-second * 45) * sum;
      }
    return sound;
  },
};

/** Far from the microphone, in a room whose echoes fade by 60 dB within so many seconds and are as loud as the voice. */
export function inRoom(voice: Float32Array, seconds = 0.7): Float32Array {
  const length = Math.round(seconds * rate);
  const echoes = whiteNoise(seconds + 1, 1)
    .subarray(0, length)
    .map((sample, index) => sample * 10 ** ((-3 * index) / length));
  const energy = Math.sqrt(echoes.reduce((sum, sample) => sum + sample * sample, 0));
  const sound = new Float32Array(voice.length + length);
  for (const [index, sample] of voice.entries()) {
    sound[index] = (sound[index] ?? 0) + sample;
    if (sample === 0) continue;
    const share = sample / energy;
    for (let delay = 0; delay < length; delay += 1)
      sound[index + delay] = (sound[index + delay] ?? 0) + share * (echoes[delay] ?? 0);
  }
  return sound.map((sample) => sample * 0.5);
}

/** Half of the samples, and what lies between them: a telephone's 8 kHz. */
export function byTelephone(voice: Float32Array): Float32Array {
  const narrow = Float32Array.from({ length: Math.floor(voice.length / 2) }, (_, index) =>
    [-3, -2, -1, 0, 1, 2, 3].reduce(
      (sum, at) => sum + (lowPass[Math.abs(at)] ?? 0) * (voice[2 * index + at] ?? 0),
      0,
    ),
  );
  return Float32Array.from({ length: narrow.length * 2 }, (_, index) => {
    const [before, after] = [narrow[index >> 1] ?? 0, narrow[(index >> 1) + 1] ?? 0];
    return index % 2 === 0 ? before : (before + after) / 2;
  });
}

/** A quarter of the rate and below passes. */
const lowPass = [0.5, 0.3, 0, -0.05];

function looped(sound: Float32Array, length: number): Float32Array {
  return Float32Array.from({ length }, (_, index) => sound[index % sound.length] ?? 0);
}

function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}

/** The level of a voice where it speaks: pauses do not count. */
function loudness(samples: Float32Array): number {
  const piece = 320;
  const levels = Array.from({ length: Math.floor(samples.length / piece) }, (_, index) =>
    rms(samples.subarray(index * piece, (index + 1) * piece)),
  );
  const loudest = Math.max(0, ...levels);
  const spoken = levels.filter((level) => level > loudest / 10);
  return Math.sqrt(spoken.reduce((sum, level) => sum + level ** 2, 0) / Math.max(1, spoken.length));
}
