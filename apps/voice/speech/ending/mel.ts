const rate = 16_000;
/** Samples of one spectrum, and between two. */
const width = 400;
const step = 160;
const bins = width / 2 + 1;
const bands = 80;
const highest = rate / 2;
/** Hz below which the mel scale is linear; above it is logarithmic. */
const bend = 1000;
const evenStep = 200 / 3;
const growth = Math.log(6.4) / 27;

const filters = bandFilters();
const hann = Float64Array.from(
  { length: width },
  (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / width),
);
const turns = Array.from({ length: width }, (_, index) => (2 * Math.PI * index) / width);
const cosines = Float64Array.from(turns, (angle) => Math.cos(angle));
const sines = Float64Array.from(turns, (angle) => Math.sin(angle));

/**
 * How loud 80 bands are every 10 ms, as speech models trained like Whisper want it: band after band, each with one
 * number for every step.
 */
export function melFeatures(samples: Float32Array): Float32Array {
  const frames = Math.floor(samples.length / step);
  const features = new Float32Array(bands * frames);
  for (let frame = 0; frame < frames; frame += 1) {
    const spectrum = powerAt(samples, frame * step - width / 2);
    for (const [band, filter] of filters.entries())
      features[band * frames + frame] = loudness(spectrum, filter);
  }
  const loudest = features.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  return features.map((value) => (Math.max(value, loudest - 8) + 4) / 4);
}

function loudness(spectrum: Float64Array, { from, weights }: Filter): number {
  const sum = weights.reduce((total, weight, index) => total + weight * (spectrum[from + index] ?? 0), 0);
  return Math.log10(Math.max(sum, 1e-10));
}

/** The power spectrum of one window; beyond the ends the sound is mirrored. */
function powerAt(samples: Float32Array, start: number): Float64Array {
  const window = Float64Array.from(hann, (weight, index) => weight * mirrored(samples, start + index));
  if (window.every((value) => value === 0)) return new Float64Array(bins);
  return Float64Array.from({ length: bins }, (_, bin) => {
    let real = 0;
    let imaginary = 0;
    for (let index = 0, turn = 0; index < width; index += 1, turn = (turn + bin) % width) {
      const value = window[index] ?? 0;
      real += value * (cosines[turn] ?? 0);
      imaginary -= value * (sines[turn] ?? 0);
    }
    return real * real + imaginary * imaginary;
  });
}

function mirrored(samples: Float32Array, index: number): number {
  const last = samples.length - 1;
  const place = index < 0 ? -index : index > last ? 2 * last - index : index;
  return samples[place] ?? 0;
}

interface Filter {
  from: number;
  weights: readonly number[];
}

/** Triangles of equal area, evenly spaced on the mel scale. */
function bandFilters(): Filter[] {
  const top = pitchOf(highest);
  const edges = Array.from({ length: bands + 2 }, (_, index) => frequencyOf((top * index) / (bands + 1)));
  return Array.from({ length: bands }, (_, band) => {
    const [low = 0, middle = 0, high = 0] = edges.slice(band, band + 3);
    const all = Array.from({ length: bins }, (_bin, bin) => {
      const frequency = (bin * rate) / width;
      const rise = (frequency - low) / (middle - low);
      const fall = (high - frequency) / (high - middle);
      return (Math.max(0, Math.min(rise, fall)) * 2) / (high - low);
    });
    const from = Math.max(
      0,
      all.findIndex((weight) => weight > 0),
    );
    return { from, weights: all.slice(from, all.findLastIndex((weight) => weight > 0) + 1) };
  });
}

function pitchOf(frequency: number): number {
  return frequency < bend ? frequency / evenStep : bend / evenStep + Math.log(frequency / bend) / growth;
}

function frequencyOf(pitch: number): number {
  const bent = bend / evenStep;
  return pitch < bent ? pitch * evenStep : bend * Math.exp(growth * (pitch - bent));
}
