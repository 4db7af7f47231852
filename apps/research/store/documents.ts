import { createHash } from 'node:crypto';
import type { Database } from '@trunkline/storage';
import { snippetOf } from './snippet.ts';

export type DocumentKind = 'file' | 'page';

/** A text that can be searched and cited: an uploaded file, or a page as it was when it was read. */
export interface StoredDocument {
  id: number;
  kind: DocumentKind;
  url: string;
  title: string;
  text: string;
  type: string;
  bytes: number;
  published: string | null;
  addedAt: number;
}

export interface NewDocument {
  kind: DocumentKind;
  /** Of a page where it was read; of a file its name. */
  url: string;
  title: string;
  text: string;
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
  published: string | null;
}

const COLUMNS = 'id, kind, url, title, text, type, bytes, published, added_at AS addedAt';
const MOST_TERMS = 12;

/** The texts of the service with their full-text index. A stored text never changes: a page that did is stored anew. */
export class DocumentStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores a text, or finds the same one stored before. */
  add(document: NewDocument): StoredDocument {
    const { kind, url, title, text, type, bytes, published = null } = document;
    const hash = createHash('sha256').update(title).update('\0').update(text).digest('hex');
    this.#database
      .prepare(
        `INSERT INTO documents (kind, url, title, text, type, hash, bytes, published, added_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      )
      .run(kind, url, title, text, type, hash, bytes, published, Date.now());
    const stored = this.#database
      .prepare<StoredDocument>(`SELECT ${COLUMNS} FROM documents WHERE kind = ? AND url = ? AND hash = ?`)
      .get(kind, url, hash);
    if (stored === undefined) throw new Error(`The text of ${url} was not stored.`);
    return stored;
  }

  get(id: number): StoredDocument | undefined {
    return this.#database.prepare<StoredDocument>(`SELECT ${COLUMNS} FROM documents WHERE id = ?`).get(id);
  }

  files(): Omit<StoredDocument, 'text'>[] {
    return this.#database
      .prepare<Omit<StoredDocument, 'text'>>(
        `SELECT id, kind, url, title, type, bytes, published, added_at AS addedAt
         FROM documents WHERE kind = 'file' ORDER BY id DESC`,
      )
      .all();
  }

  /** Removes a file; says whether it was there. */
  removeFile(id: number): boolean {
    return this.#database.prepare("DELETE FROM documents WHERE id = ? AND kind = 'file'").run(id).changes > 0;
  }

  count(kind: DocumentKind): number {
    return (
      this.#database.prepare<{ n: number }>('SELECT count(*) AS n FROM documents WHERE kind = ?').get(kind)
        ?.n ?? 0
    );
  }

  /** The texts that fit the words best, each address once. */
  search(kind: DocumentKind, query: string, limit: number): DocumentHit[] {
    const words = tellingWords(query);
    if (words.length === 0) return [];
    const match = words.map((word) => `"${word}"`).join(' OR ');
    return this.#database
      .prepare<Omit<DocumentHit, 'snippet'> & { text: string }>(
        `SELECT d.id, d.kind, d.url, d.title, d.published, d.text FROM (
           SELECT f.id, bm25(documents_text, 4.0, 1.0) AS rank
           FROM documents_text JOIN documents f ON f.id = documents_text.rowid
           WHERE documents_text MATCH ? AND f.kind = ?
             AND f.id = (SELECT max(newest.id) FROM documents newest WHERE newest.kind = f.kind AND newest.url = f.url)
           ORDER BY rank LIMIT ?) found JOIN documents d ON d.id = found.id ORDER BY found.rank`,
      )
      .all(match, kind, limit)
      .map(({ text, ...hit }) => ({ ...hit, snippet: snippetOf(text, words) }));
  }
}

/** The words that carry meaning; letters and digits alone, so that nothing is read as query syntax. */
function tellingWords(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const telling = words.filter((word) => word.length > 2 && !COMMON.has(word));
  return [...new Set(telling.length > 0 ? telling : words)].slice(0, MOST_TERMS);
}

const COMMON = new Set(
  'the and for are was were with from that this have has had what which when where who why how does did its into about than then them they not but can could should would will may over under more most such also'.split(
    ' ',
  ),
);
