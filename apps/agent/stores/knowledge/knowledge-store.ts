import { joinOrigins, type Origin, parseOrigins } from '@trunkline/identity';
import { type Database, openDatabase, storedBytes } from '@trunkline/storage';
import { operatorScope } from '../../owners.ts';
import { type Embedder, EmbeddingQueue } from './embedder.ts';
import { fuse, indexText, knowledgeMigrations, matchAll, matchAny, queryWords } from './full-text.ts';
import { VectorIndex } from './vector-index.ts';

export interface Chunk {
  id: number;
  domain: string;
  heading: string;
  content: string;
  /** Whose memory it is. */
  scope: string;
  updated_at: string;
}

/** Where a chunk stands in the order of the newest first. */
type ChunkPlace = Pick<Chunk, 'updated_at' | 'id'>;

export interface NewChunk {
  content: string;
  domain: string;
  /** The same heading in the same domain and scope replaces what was stored under it. */
  heading?: string | undefined;
  /** The operator's when left out. */
  scope?: string | undefined;
  /** What it was drawn from beyond the operator's trust. */
  origins?: readonly Origin[] | undefined;
}

/** Which chunks a page shows; all when nothing is named. */
export interface ChunkQuery {
  domain?: string | undefined;
  before?: ChunkPlace | undefined;
  scope?: string | undefined;
}

export interface KnowledgeOptions {
  path: string;
  /** Adds recall by meaning to recall by keywords. A function is asked at each use, as another model may be set meanwhile. */
  embedder?: Embedder | (() => Embedder | undefined) | undefined;
  /** Throws where so many bytes more are too many for whoever's memory that is. */
  keep?: ((scope: string, bytes: number) => void) | undefined;
  now?: () => Date;
  logger: { warn(fields: object, message: string): void };
}

/** What recalls by meaning, with the vectors of one model. */
interface Meaning {
  embedder: Embedder;
  vectors: VectorIndex;
  queue: EmbeddingQueue;
}

const columns = 'chunks.id, domain, heading, content, scope, updated_at';

/** Ranking looks up the length of every match: with SQLite's usual 2 MB of pages, recall over 400,000 chunks takes 1.4 times as long. */
const CACHE_KIB = 16_384;

/** What the agent stored to remember, recalled by keywords and by meaning. */
export class KnowledgeStore {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #keep: NonNullable<KnowledgeOptions['keep']>;
  readonly #logger: KnowledgeOptions['logger'];
  readonly #embedder: () => Embedder | undefined;
  #current: Meaning | undefined;
  /** Resolves when embedders that others took the place of are closed. */
  #replaced: Promise<unknown> = Promise.resolve();
  /** A failure is logged once, not with every query. */
  #warned = false;

  constructor({ path, embedder, keep = () => undefined, now = () => new Date(), logger }: KnowledgeOptions) {
    this.#database = openDatabase(path, { migrations: knowledgeMigrations });
    this.#database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    this.#now = now;
    this.#keep = keep;
    this.#logger = logger;
    this.#embedder = typeof embedder === 'function' ? embedder : () => embedder;
    this.#meaning();
  }

  ingest(chunk: NewChunk): Chunk {
    const stored = this.#database.transaction(() => this.#store(chunk));
    this.#meaning()?.queue.wake();
    return stored;
  }

  /** Many at once, in one transaction. */
  ingestAll(chunks: Iterable<NewChunk>): void {
    this.#database.transaction(() => {
      for (const chunk of chunks) this.#store(chunk);
    });
    this.#meaning()?.queue.wake();
  }

  /**
   * The best matches by words and by meaning together; holding every word says more than holding some. Of all scopes
   * when none is given.
   */
  async recall(query: string, count: number, scope?: string): Promise<Chunk[]> {
    const { every, some } = this.#matchWords(query, count * 2, scope);
    const close = await this.recallByMeaning(query, count * 2, scope);
    const lists = [
      { items: every, weight: 1.5 },
      { items: close, weight: 1 },
      { items: some, weight: 0.5 },
    ];
    return fuse(lists, count);
  }

  /** First what holds every word, then what holds any of them; the best of each first. */
  recallByWords(query: string, count: number, scope?: string): Chunk[] {
    const { every, some } = this.#matchWords(query, count, scope);
    return [...every, ...some].slice(0, count);
  }

  /** Empty when there is no embedder or it fails: recall then uses keywords only. */
  async recallByMeaning(query: string, count: number, scope?: string): Promise<Chunk[]> {
    const meaning = this.#meaning();
    if (meaning === undefined || query.trim() === '') return [];
    const { embedder, vectors } = meaning;
    try {
      const [vector] = await embedder.embed([query]);
      if (vector === undefined) return [];
      const isWanted = (id: number) => scope === undefined || this.get(id)?.scope === scope;
      const nearest = vectors.nearest(vector, count, embedder.leastLikeness, isWanted);
      return nearest.flatMap(({ id }) => this.get(id) ?? []);
    } catch (error) {
      if (!this.#warned)
        this.#logger.warn({ err: error }, 'failed to recall by meaning; using keywords only');
      this.#warned = true;
      return [];
    }
  }

  /** What is stored under a heading. */
  find(domain: string, heading: string, scope: string = operatorScope): Chunk | undefined {
    const id = this.#byHeading(scope, domain, heading);
    return id === undefined ? undefined : this.get(id);
  }

  /** The most recent first. */
  list(limit: number, domain?: string, scope?: string): Chunk[] {
    return this.page(limit, { domain, scope });
  }

  /** A page of all chunks, the most recent first. */
  page(limit: number, { domain, before, scope }: ChunkQuery): Chunk[] {
    const { updated_at, id } = before ?? { updated_at: '9999', id: 0 };
    const filters = Object.entries({ domain, scope }).filter(([, value]) => value !== undefined);
    const where = ['(updated_at, id) < (?, ?)', ...filters.map(([column]) => `${column} = ?`)].join(' AND ');
    const sql = `SELECT ${columns} FROM chunks WHERE ${where} ORDER BY updated_at DESC, id DESC LIMIT ?`;
    const values = filters.map(([, value]) => value ?? '');
    return this.#database.prepare<Chunk>(sql).all(updated_at, id, ...values, limit);
  }

  /** A chunk, if there is one. */
  get(id: number): Chunk | undefined {
    return this.#database.prepare<Chunk>(`SELECT ${columns} FROM chunks WHERE id = ?`).get(id);
  }

  /** What these chunks were drawn from beyond the operator's trust. */
  originsOf(chunks: readonly Pick<Chunk, 'id'>[]): readonly Origin[] {
    const select = this.#database.prepare<{ origins: string }>('SELECT origins FROM chunks WHERE id = ?');
    const stored = chunks.map(({ id }) => select.get(id)?.origins).filter((text) => text);
    return joinOrigins(...stored.map((text) => parseOrigins(JSON.parse(text ?? '[]'))));
  }

  /** Replaces the content of a chunk; undefined when there is no such chunk. */
  edit(id: number, content: string): Chunk | undefined {
    const edited = this.#database.transaction(() => {
      const chunk = this.get(id);
      if (chunk === undefined) return undefined;
      const now = this.#now().toISOString();
      this.#change(id, content, now);
      this.#index(id, chunk.heading, content);
      return { ...chunk, content, updated_at: now };
    });
    this.#meaning()?.queue.wake();
    return edited;
  }

  /** How many chunks each domain holds. */
  stats(scope?: string): { domain: string; chunks: number }[] {
    const where = scope === undefined ? '' : 'WHERE scope = ?';
    const sql = `SELECT domain, count(*) AS chunks FROM chunks ${where} GROUP BY domain ORDER BY domain`;
    const values = scope === undefined ? [] : [scope];
    return this.#database.prepare<{ domain: string; chunks: number }>(sql).all(...values);
  }

  /** What the names of domains were drawn from: of those that nobody but marked turns has used. */
  originsOfDomains(scope?: string): readonly Origin[] {
    const where = scope === undefined ? '' : 'WHERE scope = ?';
    const sql = `SELECT max(id) AS id FROM chunks ${where} GROUP BY domain HAVING min(length(coalesce(origins, ''))) > 0`;
    const values = scope === undefined ? [] : [scope];
    return this.originsOf(this.#database.prepare<{ id: number }>(sql).all(...values));
  }

  /** Says whether there was one. */
  remove(id: number): boolean {
    return this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM chunk_words WHERE rowid = ?').run(id);
      this.#meaning()?.vectors.forget(id);
      return this.#database.prepare('DELETE FROM chunks WHERE id = ?').run(id).changes > 0;
    });
  }

  /** What counts for an owner: memories of theirs, of the users they speak for, and of conversations of nobody. */
  bytesOf(owner: string): number {
    // Ranges, as the index of scopes finds them: otherwise everybody's memories are read for one owner.
    const users = "scope BETWEEN ?1 || '/user:' AND ?1 || '/user:' || char(1114111)";
    const nobodys = "scope BETWEEN 'context:' AND 'context:' || char(1114111) AND ?1 = 'anonymous'";
    const whose = `(scope BETWEEN ?1 AND ?2 OR (${users}) OR (${nobodys}))`;
    return storedBytes(this.#database, 'chunks', ['heading', 'content'], whose, owner);
  }

  /** Moves all of one scope to another; under a heading that both have, the newer owner's stays as it is. */
  adopt(from: string, to: string): void {
    this.#database.prepare('UPDATE OR IGNORE chunks SET scope = ? WHERE scope = ?').run(to, from);
  }

  /** Resolves when every chunk has its vector, or cannot have one. */
  async settled(): Promise<void> {
    await this.#meaning()?.queue.settled();
  }

  async close(): Promise<void> {
    await Promise.all([this.#replaced, this.#current?.queue.stop()]);
    this.#database.close();
  }

  /** What recalls by meaning now. With another model all chunks get new vectors, in the background. */
  #meaning(): Meaning | undefined {
    const embedder = this.#embedder();
    if (embedder === this.#current?.embedder) return this.#current;
    const stopping = this.#current?.queue.stop();
    this.#replaced = Promise.all([this.#replaced, stopping]).catch((error: unknown) =>
      this.#logger.warn({ err: error }, 'failed to close an embedder'),
    );
    this.#current = embedder && this.#open(embedder);
    return this.#current;
  }

  #open(embedder: Embedder): Meaning {
    const vectors = new VectorIndex(this.#database, embedder.model);
    const queue = new EmbeddingQueue(this.#database, embedder, vectors, this.#logger);
    queue.wake();
    return { embedder, vectors, queue };
  }

  #store({ content, domain, heading = '', scope = operatorScope, origins = [] }: NewChunk): Chunk {
    const updated_at = this.#now().toISOString();
    const chunk = { domain, heading, content, scope, updated_at };
    const known = heading === '' ? undefined : this.#byHeading(scope, domain, heading);
    const before = known === undefined ? '' : (this.get(known)?.content ?? '');
    this.#keep(scope, Math.max(0, Buffer.byteLength(content) - Buffer.byteLength(before)));
    const id = known === undefined ? this.#insert(chunk) : this.#change(known, content, updated_at);
    this.#index(id, heading, content);
    this.#database
      .prepare('UPDATE chunks SET origins = ? WHERE id = ?')
      .run(origins.length === 0 ? '' : JSON.stringify(origins), id);
    return { id, ...chunk };
  }

  #index(id: number, heading: string, content: string): void {
    this.#database
      .prepare('INSERT INTO chunk_words (rowid, heading, content) VALUES (?, ?, ?)')
      .run(id, indexText(heading), indexText(content));
  }

  #insert({ domain, heading, content, scope, updated_at }: Omit<Chunk, 'id'>): number {
    const sql = `INSERT INTO chunks (domain, heading, content, scope, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?)`;
    return this.#database.prepare(sql).run(domain, heading, content, scope, updated_at, updated_at)
      .lastInsertRowid;
  }

  #change(id: number, content: string, now: string): number {
    this.#database
      .prepare('UPDATE chunks SET content = ?, updated_at = ? WHERE id = ?')
      .run(content, now, id);
    this.#database.prepare('DELETE FROM chunk_words WHERE rowid = ?').run(id);
    this.#meaning()?.vectors.forget(id);
    return id;
  }

  #byHeading(scope: string, domain: string, heading: string): number | undefined {
    const sql = "SELECT id FROM chunks WHERE scope = ? AND domain = ? AND heading = ? AND heading <> ''";
    return this.#database.prepare<{ id: number }>(sql).get(scope, domain, heading)?.id;
  }

  #matchWords(query: string, count: number, scope?: string): { every: Chunk[]; some: Chunk[] } {
    const words = queryWords(query);
    if (words.length === 0) return { every: [], some: [] };
    const every = this.#match(matchAll(words), count, scope);
    if (every.length >= count || words.length === 1) return { every, some: [] };
    const seen = new Set(every.map(({ id }) => id));
    return { every, some: this.#match(matchAny(words), count, scope).filter(({ id }) => !seen.has(id)) };
  }

  /**
   * The index does not know scopes: matches of one are picked out before they are ranked, which is what takes long, so that
   * many memories of others cost nobody much.
   */
  #match(query: string, count: number, scope: string | undefined): Chunk[] {
    const best = `SELECT ${columns} FROM (
        SELECT rowid AS found, rank FROM chunk_words WHERE chunk_words MATCH ? ORDER BY rank LIMIT ?
      ) JOIN chunks ON chunks.id = found ORDER BY rank`;
    if (scope === undefined) return this.#database.prepare<Chunk>(best).all(query, count);
    const own = `SELECT ${columns} FROM (
        SELECT chunk_words.rowid AS found, bm25(chunk_words, 3.0, 1.0) AS score
        FROM chunk_words CROSS JOIN chunks ON chunks.id = chunk_words.rowid
        WHERE chunk_words MATCH ? AND chunks.scope = ? ORDER BY score LIMIT ?
      ) JOIN chunks ON chunks.id = found ORDER BY score`;
    return this.#database.prepare<Chunk>(own).all(query, scope, count);
  }
}
