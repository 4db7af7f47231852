/** How many crossings of zero a filter reaches to each side. */
const reach = 24;
/** The more, the less folds back and the wider the band in which it may; this gives 90 dB. */
const steepness = 9;

/** A filter for each place between two samples at which a new one may stand. */
export interface Filters {
  up: number;
  down: number;
  /** How many samples each filter reaches to either side; even. */
  width: number;
  phases: readonly Float64Array[];
}

const made = new Map<string, Filters>();
const mostKept = 16;
/** All usual rates are multiples of this; others would take thousands of filters, and most of a second to make them. */
const rateStep = 25;

/**
 * The filters from one rate to another; those that were made last are kept, for they are large. An odd rate is taken for
 * the nearest usual one, which nobody hears.
 */
export function filtersFor(from: number, to: number): Filters {
  const usual = Math.max(1, Math.round(from / rateStep)) * rateStep;
  const divisor = commonDivisor(usual, to);
  const [up, down] = [to / divisor, usual / divisor];
  const name = `${up}/${down}`;
  const filters = made.get(name) ?? makeFilters(up, down);
  made.delete(name);
  made.set(name, filters);
  const [oldest] = made.keys();
  if (made.size > mostKept && oldest !== undefined) made.delete(oldest);
  return filters;
}

/**
 * What a filter makes of the samples from there on. Four sums go on side by side, as a processor adds faster than it
 * waits for the sum before; a filter has a multiple of four weights.
 */
export function filtered(samples: Float64Array, start: number, weights: Float64Array): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let tap = 0, at = start; tap < weights.length; tap += 4, at += 4) {
    first += (weights[tap] as number) * (samples[at] as number);
    second += (weights[tap + 1] as number) * (samples[at + 1] as number);
    third += (weights[tap + 2] as number) * (samples[at + 2] as number);
    fourth += (weights[tap + 3] as number) * (samples[at + 3] as number);
  }
  return first + second + third + fourth;
}

function makeFilters(up: number, down: number): Filters {
  const cutoff = Math.min(1, up / down);
  const width = 2 * Math.ceil(reach / cutoff / 2);
  const phases = Array.from({ length: up }, (_, phase) =>
    Float64Array.from({ length: 2 * width }, (_tap, tap) =>
      weight(tap - width + 1 - phase / up, cutoff, width),
    ),
  );
  return { up, down, width, phases };
}

/** A sinc, faded out to both sides by Kaiser's window. */
function weight(distance: number, cutoff: number, width: number): number {
  const angle = Math.PI * distance * cutoff;
  const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
  const fade = bessel(steepness * Math.sqrt(1 - (distance / width) ** 2)) / bessel(steepness);
  return cutoff * sinc * fade;
}

/** The modified Bessel function of order zero, as its series. */
function bessel(value: number): number {
  let [term, sum] = [1, 1];
  for (let order = 1; term > sum * 1e-12; order += 1) {
    term *= (value / (2 * order)) ** 2;
    sum += term;
  }
  return sum;
}

function commonDivisor(left: number, right: number): number {
  return right === 0 ? left : commonDivisor(right, left % right);
}
