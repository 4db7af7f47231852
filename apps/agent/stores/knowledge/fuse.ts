/** Softens the difference between neighbouring places; the value usual for this. */
const SOFTENING = 60;

/** Joins ranked lists: what stands high in several comes first. */
export function fuse<Item extends { id: number }>(
  lists: readonly (readonly Item[])[],
  count: number,
): Item[] {
  const scores = new Map<number, { item: Item; score: number }>();
  for (const list of lists) {
    for (const [place, item] of list.entries()) {
      const known = scores.get(item.id) ?? { item, score: 0 };
      scores.set(item.id, { item, score: known.score + 1 / (SOFTENING + place) });
    }
  }
  const ranked = [...scores.values()].sort((left, right) => right.score - left.score);
  return ranked.slice(0, count).map(({ item }) => item);
}
