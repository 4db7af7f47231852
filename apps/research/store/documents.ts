import { createHash } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { ownerFilter, type Principal } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import type { Database } from '@trunkline/storage';
import { oneLine } from '../text/sentences.ts';
import { Excerpt, MOST_PARTS, type Part, PartStore, partsOf, tellingWords } from './parts.ts';

const LENGTH = 280;

/** Places of words that are looked at; a text that has them everywhere is as well shown by its beginning. */
const MOST_PLACES = 5000;

export type DocumentKind = 'file' | 'page';

/** A text that can be searched and cited: an uploaded file, or a page as it was when it was read. */
export interface StoredDocument {
  id: number;
  owner: string;
  kind: DocumentKind;
  url: string;
  title: string;
  text: string;
  type: string;
  bytes: number;
  published: string | null;
  addedAt: number;
  /** Characters of the main part, with which the text begins; null where all of it is. */
  mainLength: number | null;
  /** 1 where nothing of the page or file is missing in the text. */
  whole: number;
}

export interface NewDocument {
  owner: string;
  kind: DocumentKind;
  /** Of a page where it was read; of a file its name. */
  url: string;
  title: string;
  text: string;
  /** Characters of the main part, with which the text begins; all when not given. */
  mainLength?: number;
  /** Whether the text holds all of the page or file; it does when not given. */
  isWhole?: boolean;
  /** Characters that no reader sees, which were left out. */
  hidden?: number;
  type: string;
  bytes: number;
  published?: string | undefined;
}

export interface DocumentHit {
  id: number;
  kind: DocumentKind;
  url: string;
  title: string;
  snippet: string;
  /** The part of it that fits the words best. */
  part: string;
  published: string | null;
}

const COLUMNS =
  'id, owner, kind, url, title, type, bytes, published, added_at AS addedAt, main_length AS mainLength, whole';
/** Short texts that stay in memory: a job reads each of its pages three times. */
const KEPT_TEXTS = 100;
const LONGEST_KEPT = 50_000;
const WORDS_OF_A_SEARCH = 12;
/** Parts that are indexed before others get their turn. */
const AT_ONCE = 24;

const LONGEST_TITLE = 500;
/** Parts that a text begins with. */
const OPENING = 24;

export type DescribedDocument = Omit<StoredDocument, 'text'>;

/** The texts of the service with their full-text index. A stored text never changes: a page that did is stored again. */
export class DocumentStore {
  readonly #database: Database;
  readonly #parts: PartStore;
  /** The newest short texts. */
  readonly #excerpts = new BoundedMap<number, Excerpt>(KEPT_TEXTS);
  /** Texts that are being stored, by what makes them the same. */
  readonly #underWay = new Map<string, Promise<StoredDocument>>();

  constructor(database: Database) {
    this.#database = database;
    this.#parts = new PartStore(database);
  }

  /** Stores a text, or finds the same one stored before. A long one is stored piece by piece, and is there when all of it is. */
  async add(given: NewDocument): Promise<StoredDocument> {
    const document = {
      ...given,
      title: oneLine(given.title, LONGEST_TITLE),
      text: given.text.toWellFormed(),
    };
    const parts = partsOf(document.text);
    const hash = await hashOf(document.title, parts);
    const key = JSON.stringify([document.kind, document.owner, document.url, hash]);
    const adding = this.#underWay.get(key) ?? this.#add(document, hash, parts);
    this.#underWay.set(key, adding);
    try {
      const stored = await adding;
      this.#keep(stored);
      return stored;
    } finally {
      this.#underWay.delete(key);
    }
  }

  #keep({ id, text, mainLength, whole }: StoredDocument): void {
    this.#excerpts.delete(id);
    if (text.length > LONGEST_KEPT) return;
    const how = { mainLength: mainLength ?? undefined, isWhole: whole === 1 };
    this.#excerpts.set(id, new Excerpt([{ place: 0, start: 0, text }], how));
  }

  /** Takes away what a stop of the process left half stored. To be called before anything is added. */
  removeUnfinished(): void {
    const rows = this.#database.prepare<{ id: number }>('SELECT id FROM documents WHERE complete = 0').all();
    for (const { id } of rows) this.remove(id);
  }

  get(id: number): StoredDocument | undefined {
    const found = this.describe(id);
    return found && { ...found, text: this.#parts.text(id) };
  }

  /** What is known of a text without the text itself. */
  describe(id: number): DescribedDocument | undefined {
    return this.#database
      .prepare<DescribedDocument>(`SELECT ${COLUMNS} FROM documents WHERE id = ? AND complete = 1`)
      .get(id);
  }

  /** The main part up to about 200,000 characters. */
  opening(id: number | null): string {
    const kept = this.#excerpts.get(id ?? 0);
    if (kept !== undefined) return kept.mainText;
    const { mainLength } = this.describe(id ?? 0) ?? {};
    return this.#parts.text(id ?? 0, OPENING).slice(0, mainLength ?? undefined);
  }

  /** What of a text has most to do with the questions, in so many parts at most; all of a short one. */
  excerpt(id: number | null, questions: readonly string[], most: number): Excerpt {
    const kept = this.#excerpts.get(id ?? 0);
    if (kept !== undefined) return kept;
    const { mainLength, whole } = this.describe(id ?? 0) ?? {};
    return this.#parts.excerpt(id ?? 0, questions, most, {
      mainLength: mainLength ?? undefined,
      isWhole: whole === 1,
    });
  }

  /** Bytes of the files of an owner, or of their texts where those are larger. */
  fileBytesOf(owner: string): number {
    const row = this.#database
      .prepare<{ bytes: number }>(
        `SELECT total(max(bytes, coalesce(main_length, 0))) AS bytes FROM documents WHERE kind = 'file' AND owner = ?`,
      )
      .get(owner);
    return row?.bytes ?? 0;
  }

  /** The files that somebody may see. */
  files(principal: Principal): DescribedDocument[] {
    const seen = ownerFilter(principal);
    return this.#database
      .prepare<DescribedDocument>(
        `SELECT ${COLUMNS} FROM documents WHERE kind = 'file' AND ${seen.sql} AND complete = 1 ORDER BY id DESC`,
      )
      .all(...seen.values);
  }

  remove(id: number): void {
    this.#excerpts.delete(id);
    this.#database.transaction(() => {
      this.#parts.remove(id);
      this.#database.prepare('DELETE FROM documents WHERE id = ?').run(id);
    });
  }

  /**
   * The texts of an owner and of nobody that fit the words best, each address once, by the part of each that fits them
   * best. The operator searches no others either: what they may look at is not what their research is to draw on.
   */
  search(
    kind: DocumentKind,
    query: string,
    { limit, owner = 'anonymous' }: { limit: number; owner?: string | undefined },
  ): DocumentHit[] {
    const words = tellingWords(query, WORDS_OF_A_SEARCH);
    if (words.length === 0 || !this.#hasAny(kind, owner)) return [];
    const match = words.map((word) => `"${word}"`).join(' OR ');
    return this.#database
      .prepare<Omit<DocumentHit, 'snippet'>>(SEARCH)
      .all(match, kind, limit, owner)
      .map((hit) => ({ ...hit, snippet: snippetOf(hit.part, words) }));
  }

  /** The index holds the texts of all kinds and owners: who has no files need not wait for it. */
  #hasAny(kind: DocumentKind, owner: string): boolean {
    const any = "SELECT 1 FROM documents WHERE kind = ? AND owner IN ('anonymous', ?) LIMIT 1";
    return this.#database.prepare(any).get(kind, owner) !== undefined;
  }

  async #add(document: NewDocument, hash: string, parts: readonly Part[]): Promise<StoredDocument> {
    const known = this.#same(document, hash);
    if (known?.complete === 1) return { ...this.#readAgain(known, document), text: document.text };
    if (known !== undefined) this.remove(known.id);
    let id: number | undefined;
    try {
      for (let from = 0; from === 0 || from < parts.length; from += AT_ONCE) {
        if (from > 0) await breathe();
        const some = parts.slice(from, from + AT_ONCE);
        id = this.#addSome({ ...document, hash, id }, some, from + AT_ONCE >= parts.length);
      }
    } catch (error) {
      if (id !== undefined) this.remove(id);
      throw error;
    }
    const stored = this.#same(document, hash);
    if (stored === undefined) throw new Error(`The text of ${document.url} was not stored.`);
    return { ...stored, text: document.text };
  }

  /** Documents of earlier versions do not say what of them is the main part, nor that they are whole. */
  #readAgain(
    known: DescribedDocument & { hidden: number },
    { mainLength: length, isWhole = true, hidden = 0 }: NewDocument,
  ): DescribedDocument {
    const [mainLength, whole] = [length ?? null, isWhole ? 1 : 0];
    if (known.mainLength === mainLength && known.whole === whole && known.hidden === hidden) return known;
    this.#database
      .prepare('UPDATE documents SET main_length = ?, whole = ?, hidden = ? WHERE id = ?')
      .run(mainLength, whole, hidden, known.id);
    return { ...known, mainLength, whole };
  }

  #same(
    { kind, owner, url }: NewDocument,
    hash: string,
  ): (DescribedDocument & { hidden: number; complete: number }) | undefined {
    return this.#database
      .prepare<DescribedDocument & { hidden: number; complete: number }>(
        `SELECT ${COLUMNS}, hidden, complete FROM documents WHERE kind = ? AND owner = ? AND url = ? AND hash = ?`,
      )
      .get(kind, owner, url, hash);
  }

  /** Adds parts to a document, which is made with the first of them and whole with the last; gives its id. */
  #addSome(
    document: NewDocument & { hash: string; id: number | undefined },
    parts: readonly Part[],
    isLast: boolean,
  ): number {
    return this.#database.transaction(() => {
      const id = document.id ?? this.#create(document);
      this.#parts.add(id, document.title, parts);
      if (isLast) this.#database.prepare('UPDATE documents SET complete = 1 WHERE id = ?').run(id);
      return id;
    });
  }

  #create(document: NewDocument & { hash: string }): number {
    const { owner, kind, url, title, type, hash, bytes, published = null } = document;
    const { mainLength = null, isWhole = true, hidden = 0 } = document;
    return this.#database
      .prepare(
        `INSERT INTO documents (owner, kind, url, title, type, hash, bytes, published, added_at, main_length, whole, hidden, complete)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`,
      )
      .run(
        owner,
        kind,
        url,
        title,
        type,
        hash,
        bytes,
        published,
        Date.now(),
        mainLength,
        isWhole ? 1 : 0,
        hidden,
      ).lastInsertRowid;
  }
}

const SEARCH = `
  WITH hits AS MATERIALIZED (
    SELECT rowid AS part, bm25(parts_text, 4.0, 1.0) AS rank FROM parts_text WHERE parts_text MATCH ?1
  ), best AS MATERIALIZED (
    SELECT part / ${MOST_PARTS} AS id, part, min(rank) AS rank FROM hits GROUP BY 1
  ), found AS MATERIALIZED (
    SELECT d.id, d.kind, d.url, d.title, d.published, best.part, best.rank FROM best JOIN documents d USING (id)
    WHERE d.kind = ?2 AND d.owner IN ('anonymous', ?4) AND d.complete = 1 AND d.id = (
      SELECT max(newest.id) FROM documents newest
      WHERE newest.kind = d.kind AND newest.owner IN ('anonymous', ?4) AND newest.url = d.url AND newest.complete = 1)
    ORDER BY best.rank LIMIT ?3
  )
  SELECT found.id, kind, url, title, published, text AS part FROM found
  JOIN document_parts ON document_parts.id = found.part ORDER BY rank`;

async function hashOf(title: string, parts: readonly Part[]): Promise<string> {
  const hash = createHash('sha256').update(title).update('\0');
  for (const { place, text } of parts) {
    if (place > 0 && place % AT_ONCE === 0) await breathe();
    hash.update(text);
  }
  return hash.digest('hex');
}

/**
 * The stretch of a text in which most of the words stand close together. SQLite's own `snippet` compares each place with
 * every other one: a book that has the words everywhere would take it minutes.
 */
function snippetOf(text: string, words: readonly string[]): string {
  const start = bestStart(placesOf(text, words));
  const from = start === 0 ? 0 : leadStart(text, Math.max(0, start - LENGTH / 4), start);
  const to = Math.min(text.length, from + LENGTH);
  const end = to === text.length ? to : Math.max(from + LENGTH / 2, text.lastIndexOf(' ', to));
  return `${from === 0 ? '' : ' … '}${text.slice(from, end).trim()}${end === text.length ? '' : ' … '}`;
}

/** The first sentence or line that begins in this stretch, so that no rest of another leads the snippet; else the first word. */
function leadStart(text: string, least: number, most: number): number {
  if (least === 0) return 0;
  const end = /[.!?]["')\]]*\s+|\n\s*/.exec(text.slice(least, most));
  return end === null ? wordStart(text, least) : least + end.index + end[0].length;
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
