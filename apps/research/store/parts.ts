import type { Database } from '@trunkline/storage';
import { isUnspaced, spaced } from '../text/words.ts';

const FREQUENT = new Set(
  'the and for are was were with from that this have has had what which when where who why how does did its into about than then them they not but can could should would will may over under more most such also'.split(
    ' ',
  ),
);

const GAP = '\n\n';

/** Parts of one document have neighbouring ids, so that the index can be asked about one document alone. */
export const MOST_PARTS = 2 ** 20;
const LENGTH = 8000;

/** A text in parts of a few pages, cut between paragraphs, sentences or words where there are any. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  for (let start = 0; start < text.length; start += parts.at(-1)?.text.length ?? 0)
    parts.push({ place: parts.length, start, text: partAt(text, start) });
  return parts;
}

const CUTS = ['\n\n', '\n', '. ', ' '];

function partAt(text: string, start: number): string {
  const longest = text.slice(start, start + LENGTH);
  if (start + LENGTH >= text.length) return longest;
  const ends = CUTS.map((cut) => longest.lastIndexOf(cut) + cut.length);
  const end = ends.find((place) => place > LENGTH / 2) ?? LENGTH;
  return longest.slice(0, end).replace(/[\ud800-\udbff]$/, '');
}

const WORDS_OF_A_QUESTION = 40;
/** A word that one part in so many has tells nothing about which part is meant, where there are rarer ones. */
const COMMON = 8;
/** Characters up to which a text is taken whole. */
const WHOLE = 400_000;

/** The texts of documents, in parts that are indexed one by one: a long text holds nobody up, neither going in nor read. */
export class PartStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** To be called inside a transaction. */
  add(documentId: number, title: string, parts: readonly Part[]): void {
    const insert = this.#database.prepare('INSERT INTO document_parts (id, start, text) VALUES (?, ?, ?)');
    const index = this.#database.prepare('INSERT INTO parts_text (rowid, title, text) VALUES (?, ?, ?)');
    for (const { place, start, text } of parts) {
      insert.run(documentId * MOST_PARTS + place, start, text);
      index.run(documentId * MOST_PARTS + place, spaced(title), spaced(text));
    }
  }

  /** To be called inside a transaction. */
  remove(documentId: number): void {
    const range = rangeOf(documentId);
    this.#database
      .prepare(
        'DELETE FROM parts_text WHERE rowid IN (SELECT id FROM document_parts WHERE id BETWEEN ? AND ?)',
      )
      .run(...range);
    this.#database.prepare('DELETE FROM document_parts WHERE id BETWEEN ? AND ?').run(...range);
  }

  /** The text, or its first parts. */
  text(documentId: number, most = MOST_PARTS): string {
    return this.#database
      .prepare<{ text: string }>(
        'SELECT text FROM document_parts WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?',
      )
      .all(...rangeOf(documentId), most)
      .map(({ text }) => text)
      .join('');
  }

  /**
   * What of a text has most to do with the questions: all of a short one, the best parts of a long one and its beginning.
   * It depends on that text alone, so that it is the same whenever it is asked for.
   */
  excerpt(
    documentId: number,
    questions: readonly string[],
    most: number,
    { mainLength, isWhole }: { mainLength: number | undefined; isWhole: boolean },
  ): Excerpt {
    const last = this.#database
      .prepare<{ id: number; start: number }>(
        'SELECT id, start FROM document_parts WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1',
      )
      .get(...rangeOf(documentId));
    if (last === undefined || last.start < WHOLE)
      return new Excerpt([{ place: 0, start: 0, text: this.text(documentId) }], { mainLength, isWhole });
    const count = (last.id % MOST_PARTS) + 1;
    const places = inTurn([[0], ...this.#rankings(documentId, questions, count)], most);
    const isAll = places.length === count;
    return new Excerpt(
      places.flatMap((place) => this.#part(documentId, place) ?? []),
      { mainLength, isWhole: isWhole && isAll },
    );
  }

  #part(documentId: number, place: number): Part | undefined {
    return this.#database
      .prepare<Part>('SELECT ? AS place, start, text FROM document_parts WHERE id = ?')
      .get(place, documentId * MOST_PARTS + place);
  }

  /** For each question the places of the parts that have its words; a word that few parts have counts for more. */
  #rankings(documentId: number, questions: readonly string[], count: number): number[][] {
    const known = new Map<string, number[]>();
    const placesOf = (word: string) => {
      const places = known.get(word) ?? this.#placesOf(documentId, word, Math.ceil(count / COMMON));
      known.set(word, places);
      return places;
    };
    return questions.map((question) => {
      const lists = tellingWords(question, WORDS_OF_A_QUESTION).map(placesOf);
      const rare = lists.filter(({ length }) => length < count / COMMON);
      return ranked(rare.some(({ length }) => length > 0) ? rare : lists, count);
    });
  }

  #placesOf(documentId: number, word: string, most: number): number[] {
    return this.#database
      .prepare<{ rowid: number }>(
        'SELECT rowid FROM parts_text WHERE parts_text MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?',
      )
      .all(`text : "${word}"`, ...rangeOf(documentId), most)
      .map(({ rowid }) => rowid % MOST_PARTS);
  }
}

function rangeOf(documentId: number): [number, number] {
  return [documentId * MOST_PARTS, (documentId + 1) * MOST_PARTS - 1];
}

/** The places that stand in most lists, of which a short one counts for more; the earlier place first where they are equal. */
function ranked(lists: readonly number[][], count: number): number[] {
  const scores = new Map<number, number>();
  for (const places of lists) {
    const weight = Math.log(1 + count / Math.max(1, places.length));
    for (const place of places) scores.set(place, (scores.get(place) ?? 0) + weight);
  }
  return [...scores]
    .sort(([left, less], [right, more]) => more - less || left - right)
    .map(([place]) => place);
}

/** The first of each list, then the second of each, and so on, up to a number; in ascending order. */
function inTurn(lists: readonly number[][], most: number): number[] {
  const chosen = new Set<number>();
  const longest = Math.max(...lists.map((list) => list.length));
  for (let rank = 0; rank < longest; rank += 1)
    for (const list of lists) {
      const place = list[rank];
      if (place !== undefined && chosen.size < most) chosen.add(place);
    }
  return [...chosen].sort((left, right) => left - right);
}

/** A part of a text, and the place where it begins there. */
export interface Part {
  /** Its number among the parts, from 0. */
  place: number;
  start: number;
  text: string;
}

/** Parts of a text put together in their order, which knows where each of its places stands in the whole. */
export class Excerpt {
  readonly text: string;
  /** Whether it holds all of the page or file, so that what it lacks is not there. */
  readonly isWhole: boolean;
  readonly #mainLength: number;
  readonly #offsets: { from: number; shift: number }[] = [];

  constructor(
    parts: readonly Part[],
    { mainLength, isWhole = true }: { mainLength?: number | undefined; isWhole?: boolean } = {},
  ) {
    this.isWhole = isWhole;
    this.#mainLength = mainLength ?? Number.POSITIVE_INFINITY;
    const pieces: string[] = [];
    let [length, last] = [0, -1];
    for (const { place, start, text } of parts) {
      const gap = last === -1 || place === last + 1 ? '' : GAP;
      this.#offsets.push({ from: length + gap.length, shift: start - length - gap.length });
      pieces.push(gap, text);
      length += gap.length + text.length;
      last = place;
    }
    this.text = pieces.join('');
  }

  /** Of a whole text its main part. */
  get mainText(): string {
    return this.text.slice(0, this.#mainLength);
  }

  /** Whether the character at this place of the excerpt stands in the document's main part. */
  isMain(at: number): boolean {
    return this.placeInWhole(at) < this.#mainLength;
  }

  /** Where the character at this place of the excerpt stands in the whole text. */
  placeInWhole(at: number): number {
    return at + (this.#offsets.findLast(({ from }) => from <= at)?.shift ?? 0);
  }
}

/** The words that carry meaning; letters and digits alone, so that nothing is read as query syntax. */
export function tellingWords(query: string, most: number): string[] {
  const words =
    spaced(query)
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const isTelling = (word: string) => word.length > (isUnspaced(word) ? 1 : 2) || /\p{N}/u.test(word);
  const telling = words.filter((word) => isTelling(word) && !FREQUENT.has(word));
  return [...new Set(telling.length > 0 ? telling : words)].slice(0, most);
}
