/** How many crossings of zero a filter reaches to each side. */
const reach = 32;
/** The more, the less folds back and the wider the band in which it may; this gives 90 dB. */
const steepness = 9;

/** A filter for each place between two samples at which a new one may stand. */
export interface Filters {
  up: number;
  down: number;
  /** How many samples each filter reaches to either side. */
  width: number;
  phases: readonly Float32Array[];
}

const made = new Map<string, Filters>();

/** The filters from one rate to another; made once, for they are large. */
export function filtersFor(from: number, to: number): Filters {
  const divisor = commonDivisor(from, to);
  const [up, down] = [to / divisor, from / divisor];
  const name = `${up}/${down}`;
  const filters = made.get(name) ?? makeFilters(up, down);
  made.set(name, filters);
  return filters;
}

function makeFilters(up: number, down: number): Filters {
  const cutoff = Math.min(1, up / down);
  const width = Math.ceil(reach / cutoff);
  const phases = Array.from({ length: up }, (_, phase) =>
    Float32Array.from({ length: 2 * width }, (_tap, tap) =>
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
