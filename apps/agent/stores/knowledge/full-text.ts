import type { Migration } from '@trunkline/storage';

/** Softens the difference between neighbouring places. */
const SOFTENING = 10;

/** Scripts that are written without blanks: each character counts as a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const MAX_WORDS = 32;
const COMMON = new Set(
  'a an and are as at be been but by can did do does for from had has have how i if in is it its me my no not of on or our so that the their them then there these they this to was we were what when where which who why will with you your'.split(
    ' ',
  ),
);

/** The text as it goes into the index. */
export function indexText(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, ' $& ');
}

/** The significant words of a query; all of them when none is significant. Quotes and operators do not count. */
export function queryWords(query: string): string[] {
  const words = indexText(query).toLowerCase().match(WORD) ?? [];
  const telling = words.filter((word) => !COMMON.has(word));
  return [...new Set(telling.length > 0 ? telling : words)].slice(0, MAX_WORDS);
}

/** An FTS5 query; every word is quoted, so that none is taken for an operator. */
export function matchAll(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' AND ');
}

export function matchAny(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' OR ');
}

/** The index keeps no text of its own; a heading counts three times as much as the content. */
export const knowledgeMigrations: readonly Migration[] = [
  `CREATE TABLE chunks (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     domain TEXT NOT NULL,
     heading TEXT NOT NULL,
     content TEXT NOT NULL,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX chunks_by_heading ON chunks (domain, heading) WHERE heading <> '';
   CREATE INDEX chunks_by_time ON chunks (updated_at, id);
   CREATE VIRTUAL TABLE chunk_words USING fts5 (
     heading, content, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
   );
   INSERT INTO chunk_words (chunk_words, rank) VALUES ('rank', 'bm25(3.0, 1.0)');
   CREATE TABLE vectors (
     id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
     model TEXT NOT NULL,
     vector BLOB NOT NULL
   ) STRICT;`,
  // What was stored before memories had owners is the operator's.
  `ALTER TABLE chunks ADD COLUMN scope TEXT NOT NULL DEFAULT 'operator';
   DROP INDEX chunks_by_heading;
   CREATE UNIQUE INDEX chunks_by_heading ON chunks (scope, domain, heading) WHERE heading <> '';
   CREATE INDEX chunks_by_scope ON chunks (scope, updated_at, id);`,
  // A JSON list: what the turn had read from outside that stored the chunk.
  `ALTER TABLE chunks ADD COLUMN origins TEXT NOT NULL DEFAULT '';`,
  // What somebody without a key stored on the console.
  `UPDATE chunks SET scope = 'anonymous' WHERE scope = 'context:';`,
];

interface RankedList<Item> {
  /** The best first. */
  items: readonly Item[];
  /** How much a place in this list counts. */
  weight: number;
}

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
