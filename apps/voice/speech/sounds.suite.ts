const rate = 16_000;

/** Numbers that are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const made = (seconds: number, sample: (second: number, index: number) => number) =>
  Float32Array.from({ length: seconds * rate }, (_, index) => sample(index / rate, index));
const sine = (hertz: number, second: number) => Math.sin(2 * Math.PI * hertz * second);

/** White noise, as loud as speech. */
export function whiteNoise(seconds: number, loudness = 0.1): Float32Array {
  const random = createRandom(7);
  return made(seconds, () => random() * loudness);
}

/** What is heard where nobody speaks, four seconds each, at 16 kHz. */
export const wordless: Readonly<Record<string, Float32Array>> = {
  silence: new Float32Array(4 * rate),
  'the hiss of a quiet room': whiteNoise(4, 0.003),
  noise: whiteNoise(4, 0.2),
  'mains hum': made(
    4,
    (second) => 0.3 * sine(50, second) + 0.15 * sine(100, second) + 0.05 * sine(150, second),
  ),
  clicks: made(4, (_second, index) => (index % 8000 < 12 ? 0.9 : 0)),
  'a cough': cough(),
  music: made(4, (second) => chord(second)),
};

/** A burst of noise that dies away. */
function cough(): Float32Array {
  const random = createRandom(3);
  return made(4, (second) =>
    second > 1 && second < 1.25 ? random() * 0.6 * Math.exp(-(second - 1) * 14) : 0,
  );
}

/** Chords of decaying tones, one every half second. */
function chord(second: number): number {
  const roots = [220, 261.6, 196, 246.9];
  const root = roots[Math.floor(second * 2) % roots.length] ?? 220;
  const decay = Math.exp(-((second * 2) % 1) * 3);
  return 0.15 * decay * (sine(root, second) + sine(root * 1.25, second) + sine(root * 1.5, second));
}
