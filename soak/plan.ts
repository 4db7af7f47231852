import type { Random } from './random.ts';

export interface PlanOptions {
  seconds: number;
  kills: number;
  /** How often the disk is filled. */
  fills: number;
  /** How often the clock jumps. */
  jumps: number;
}

export interface Trouble {
  /** Milliseconds after the start of the load. */
  atMs: number;
  kind: 'kill' | 'fill' | 'jump';
  /** How far the clock jumps, or how long the disk stays full, in milliseconds. */
  amount: number;
}

/** The last part of a run is left in peace, so that memory can be watched in one process. */
export const troubledShare = 0.65;

/** Everything that will go wrong, and when: the same for the same seed. */
export function planTroubles(random: Random, { seconds, kills, fills, jumps }: PlanOptions): Trouble[] {
  const kinds: Trouble['kind'][] = [
    ...new Array<'kill'>(kills).fill('kill'),
    ...new Array<'fill'>(fills).fill('fill'),
    ...new Array<'jump'>(jumps).fill('jump'),
  ];
  const troubles = kinds.map((kind) => ({
    kind,
    atMs: seconds * 1000 * (0.08 + random.next() * (troubledShare - 0.08)),
    amount: kind === 'jump' ? jumpMs(random) : random.between(2000, 4000),
  }));
  return troubles.sort((one, other) => one.atMs - other.atMs);
}

/** Mostly ahead, by one minute to twenty; one in three goes back a little, as a corrected clock does. */
function jumpMs(random: Random): number {
  return random.chance(1 / 3) ? -random.between(1000, 5000) : random.between(60_000, 1_200_000);
}
