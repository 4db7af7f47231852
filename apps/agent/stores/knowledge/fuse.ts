export interface RankedList<Item> {
  /** The best first. */
  items: readonly Item[];
  /** How much a place in this list counts. */
  weight: number;
}

/** Softens the difference between neighbouring places. */
const SOFTENING = 10;

/** Joins ranked lists: what stands high in several, or in one that counts much, comes first. */
export function fuse<Item extends { id: number }>(lists: readonly RankedList<Item>[], count: number): Item[] {
  const scores = new Map<number, { item: Item; score: number }>();
  for (const { items, weight } of lists) {
    for (const [place, item] of items.entries()) {
      const known = scores.get(item.id) ?? { item, score: 0 };
      scores.set(item.id, { item, score: known.score + weight / (SOFTENING + place) });
    }
  }
  const ranked = [...scores.values()].sort((left, right) => right.score - left.score);
  return ranked.slice(0, count).map(({ item }) => item);
}
