// Points that are spread evenly over a ball, and a few brighter ones that are linked like a constellation.

const MOST_POINTS = 3200;
const STARS = 130;
const LINKS_EACH = 3;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
/** Linked stars share one shell, so that they never drift apart. */
const STAR_SHELL = 0.95;

export interface PointCloud {
  /** Four numbers a point: its place on the ball, and a number of its own. */
  points: Float32Array;
  stars: Float32Array;
  /** Pairs of stars. */
  links: Uint16Array;
}

export function createPointCloud(): PointCloud {
  const stars = spread(STARS, () => STAR_SHELL, 0.5);
  return { points: spread(MOST_POINTS, ownNumber, 0), stars, links: nearestPairs(stars) };
}

function spread(count: number, own: (index: number) => number, offset: number): Float32Array {
  const numbers = new Float32Array(count * 4);
  // Taken in scattered order, so that a part of the points covers the ball too.
  for (let index = 0; index < count; index += 1) {
    const step = scattered(index, count);
    const height = 1 - (2 * (step + 0.5)) / count;
    const ring = Math.sqrt(1 - height * height);
    const angle = step * GOLDEN_ANGLE + offset;
    numbers.set([Math.cos(angle) * ring, height, Math.sin(angle) * ring, own(step)], index * 4);
  }
  return numbers;
}

function scattered(index: number, count: number): number {
  return (index * 1009) % count;
}

function ownNumber(index: number): number {
  return ((index * 0.754877666) % 1) * 0.94;
}

function nearestPairs(stars: Float32Array): Uint16Array {
  const pairs = new Set<number>();
  const places = Array.from({ length: STARS }, (_, star) => stars.subarray(star * 4, star * 4 + 3));
  places.forEach((place, star) => {
    const others = places.map((other, index) => ({ index, near: index === star ? -2 : dot(place, other) }));
    others.sort((a, b) => b.near - a.near);
    for (const { index } of others.slice(0, LINKS_EACH))
      pairs.add(Math.min(star, index) * STARS + Math.max(star, index));
  });
  return Uint16Array.from([...pairs].flatMap((pair) => [Math.floor(pair / STARS), pair % STARS]));
}

function dot(a: Float32Array, b: Float32Array): number {
  return (a[0] ?? 0) * (b[0] ?? 0) + (a[1] ?? 0) * (b[1] ?? 0) + (a[2] ?? 0) * (b[2] ?? 0);
}
