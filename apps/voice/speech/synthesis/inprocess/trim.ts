/** Softer than this is silence: -46 dB of full scale. */
const silent = 0.005;

/** Cuts the silence at both ends to the given seconds, so that pieces follow each other as in one breath. */
export function trimSilence(
  samples: Float32Array,
  sampleRate: number,
  keep: { before: number; after: number },
): Float32Array {
  const first = samples.findIndex((sample) => Math.abs(sample) > silent);
  if (first < 0) return samples.subarray(0, 0);
  const last = samples.findLastIndex((sample) => Math.abs(sample) > silent);
  const from = Math.max(0, first - Math.round(keep.before * sampleRate));
  return samples.subarray(from, Math.min(samples.length, last + 1 + Math.round(keep.after * sampleRate)));
}
