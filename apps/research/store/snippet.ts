const LENGTH = 280;
/** Places of words that are looked at; a text that has them everywhere is as well shown by its beginning. */
const MOST_PLACES = 5000;

/**
 * The stretch of a text in which most of the words stand close together. SQLite's own `snippet` compares each place with
 * every other one: a book that has the words everywhere would take it minutes.
 */
export function snippetOf(text: string, words: readonly string[]): string {
  const start = bestStart(placesOf(text, words));
  const from = start === 0 ? 0 : wordStart(text, Math.max(0, start - LENGTH / 4));
  const to = Math.min(text.length, from + LENGTH);
  const end = to === text.length ? to : Math.max(from + LENGTH / 2, text.lastIndexOf(' ', to));
  return `${from === 0 ? '' : ' … '}${text.slice(from, end).trim()}${end === text.length ? '' : ' … '}`;
}

interface Place {
  at: number;
  word: number;
}

/** Where words stand that begin like the wanted ones, whatever their endings. */
function placesOf(text: string, words: readonly string[]): Place[] {
  if (words.length === 0) return [];
  const beginnings = words.map((word) => word.slice(0, Math.max(3, word.length - 3)));
  const pattern = new RegExp(
    `(?<![\\p{L}\\p{N}])(?:${beginnings.map((each) => `(${each})`).join('|')})`,
    'giu',
  );
  const places: Place[] = [];
  for (const match of text.matchAll(pattern)) {
    places.push({ at: match.index, word: match.slice(1).findIndex((group) => group !== undefined) });
    if (places.length === MOST_PLACES) break;
  }
  return places;
}

/** The first place from which a snippet holds most of the different words. */
function bestStart(places: readonly Place[]): number {
  const counts = new Map<number, number>();
  let best = { at: 0, distinct: 0 };
  let first = 0;
  for (const { at, word } of places) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
    for (
      let place = places[first];
      place !== undefined && at - place.at > LENGTH / 2;
      place = places[first]
    ) {
      const left = (counts.get(place.word) ?? 1) - 1;
      if (left === 0) counts.delete(place.word);
      else counts.set(place.word, left);
      first += 1;
    }
    if (counts.size > best.distinct) best = { at: places[first]?.at ?? 0, distinct: counts.size };
  }
  return best.at;
}

function wordStart(text: string, at: number): number {
  const gap = text.slice(at, at + LENGTH / 4).search(/\s/);
  return at === 0 || gap === -1 ? at : at + gap + 1;
}
