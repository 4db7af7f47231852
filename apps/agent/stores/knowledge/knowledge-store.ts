import { type Database, openDatabase } from '@trunkline/storage';
import type { Embedder } from './embedder.ts';
import { EmbeddingQueue } from './embedding-queue.ts';
import { fuse } from './fuse.ts';
import { knowledgeMigrations } from './schema.ts';
import { VectorIndex } from './vector-index.ts';
import { indexText, matchAll, matchAny, queryWords } from './words.ts';

export interface Chunk {
  id: number;
  domain: string;
  heading: string;
  content: string;
  updated_at: string;
}

/** Where a chunk stands in the order of the newest first. */
export type ChunkPlace = Pick<Chunk, 'updated_at' | 'id'>;

export interface NewChunk {
  content: string;
  domain: string;
  /** The same heading in the same domain replaces what was stored under it. */
  heading?: string | undefined;
}

export interface KnowledgeOptions {
  path: string;
  /** Recall by meaning beside recall by words; words alone when left out. */
  embedder?: Embedder | undefined;
  now?: () => Date;
  logger: { warn(fields: object, message: string): void };
}

const columns = 'chunks.id, domain, heading, content, updated_at';

/** What the agent was told to remember, found again by words and by meaning. */
export class KnowledgeStore {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #logger: KnowledgeOptions['logger'];
  readonly #embedder: Embedder | undefined;
  readonly #vectors: VectorIndex | undefined;
  readonly #queue: EmbeddingQueue | undefined;
  /** A failure is told once, not with every question. */
  #warned = false;

  constructor({ path, embedder, now = () => new Date(), logger }: KnowledgeOptions) {
    this.#database = openDatabase(path, { migrations: knowledgeMigrations });
    this.#now = now;
    this.#logger = logger;
    this.#embedder = embedder;
    if (embedder === undefined) return;
    this.#vectors = new VectorIndex(this.#database, embedder.model);
    this.#queue = new EmbeddingQueue(this.#database, embedder, this.#vectors, logger);
    this.#queue.wake();
  }

  ingest(chunk: NewChunk): Chunk {
    const stored = this.#database.transaction(() => this.#store(chunk));
    this.#queue?.wake();
    return stored;
  }

  /** Many at once, in one transaction. */
  ingestAll(chunks: Iterable<NewChunk>): void {
    this.#database.transaction(() => {
      for (const chunk of chunks) this.#store(chunk);
    });
    this.#queue?.wake();
  }

  /** The best matches by words and by meaning together; holding every word says more than holding some. */
  async recall(query: string, count: number): Promise<Chunk[]> {
    const { every, some } = this.#matchWords(query, count * 2);
    const close = await this.recallByMeaning(query, count * 2);
    const lists = [
      { items: every, weight: 1.5 },
      { items: close, weight: 1 },
      { items: some, weight: 0.5 },
    ];
    return fuse(lists, count);
  }

  /** First what holds every word, then what holds any of them; the best of each first. */
  recallByWords(query: string, count: number): Chunk[] {
    const { every, some } = this.#matchWords(query, count);
    return [...every, ...some].slice(0, count);
  }

  /** Nothing when there is no embedder or it fails: words alone must do then. */
  async recallByMeaning(query: string, count: number): Promise<Chunk[]> {
    if (this.#embedder === undefined || this.#vectors === undefined || query.trim() === '') return [];
    try {
      const [vector] = await this.#embedder.embed([query]);
      if (vector === undefined) return [];
      const nearest = this.#vectors.nearest(vector, count, this.#embedder.leastLikeness);
      return nearest.flatMap(({ id }) => this.#get(id) ?? []);
    } catch (error) {
      if (!this.#warned) this.#logger.warn({ err: error }, 'recall by meaning failed, words alone are used');
      this.#warned = true;
      return [];
    }
  }

  /** What is stored under a heading. */
  find(domain: string, heading: string): Chunk | undefined {
    const id = this.#byHeading(domain, heading);
    return id === undefined ? undefined : this.#get(id);
  }

  /** The most recent first. */
  list(limit: number, domain?: string): Chunk[] {
    const where = domain === undefined ? '' : 'WHERE domain = ?';
    const order = 'ORDER BY updated_at DESC, id DESC LIMIT ?';
    const statement = this.#database.prepare<Chunk>(`SELECT ${columns} FROM chunks ${where} ${order}`);
    return domain === undefined ? statement.all(limit) : statement.all(domain, limit);
  }

  /** A page of all chunks, the most recent first. */
  page(
    limit: number,
    { domain, before }: { domain?: string | undefined; before?: ChunkPlace | undefined },
  ): Chunk[] {
    const { updated_at, id } = before ?? { updated_at: '9999', id: 0 };
    const sql = `SELECT ${columns} FROM chunks WHERE (updated_at, id) < (?, ?) AND (? IS NULL OR domain = ?)
      ORDER BY updated_at DESC, id DESC LIMIT ?`;
    return this.#database.prepare<Chunk>(sql).all(updated_at, id, domain ?? null, domain ?? null, limit);
  }

  /** Puts other words in place of a chunk's; undefined when there is none. */
  edit(id: number, content: string): Chunk | undefined {
    const edited = this.#database.transaction(() => {
      const chunk = this.#get(id);
      if (chunk === undefined) return undefined;
      const now = this.#now().toISOString();
      this.#change(id, content, now);
      this.#index(id, chunk.heading, content);
      return { ...chunk, content, updated_at: now };
    });
    this.#queue?.wake();
    return edited;
  }

  /** How many chunks each domain holds. */
  stats(): { domain: string; chunks: number }[] {
    const sql = 'SELECT domain, count(*) AS chunks FROM chunks GROUP BY domain ORDER BY domain';
    return this.#database.prepare<{ domain: string; chunks: number }>(sql).all();
  }

  /** Says whether there was one. */
  remove(id: number): boolean {
    return this.#database.transaction(() => {
      this.#database.prepare('DELETE FROM chunk_words WHERE rowid = ?').run(id);
      this.#vectors?.forget(id);
      return this.#database.prepare('DELETE FROM chunks WHERE id = ?').run(id).changes > 0;
    });
  }

  /** Resolves when every chunk has its vector, or cannot have one. */
  async settled(): Promise<void> {
    await this.#queue?.settled();
  }

  async close(): Promise<void> {
    await this.#queue?.stop();
    await this.#embedder?.close();
    this.#database.close();
  }

  #store({ content, domain, heading = '' }: NewChunk): Chunk {
    const now = this.#now().toISOString();
    const known = heading === '' ? undefined : this.#byHeading(domain, heading);
    const id =
      known === undefined ? this.#insert(domain, heading, content, now) : this.#change(known, content, now);
    this.#index(id, heading, content);
    return { id, domain, heading, content, updated_at: now };
  }

  #index(id: number, heading: string, content: string): void {
    this.#database
      .prepare('INSERT INTO chunk_words (rowid, heading, content) VALUES (?, ?, ?)')
      .run(id, indexText(heading), indexText(content));
  }

  #insert(domain: string, heading: string, content: string, now: string): number {
    return this.#database
      .prepare('INSERT INTO chunks (domain, heading, content, created_at, updated_at) VALUES (?, ?, ?, ?, ?)')
      .run(domain, heading, content, now, now).lastInsertRowid;
  }

  #change(id: number, content: string, now: string): number {
    this.#database
      .prepare('UPDATE chunks SET content = ?, updated_at = ? WHERE id = ?')
      .run(content, now, id);
    this.#database.prepare('DELETE FROM chunk_words WHERE rowid = ?').run(id);
    this.#vectors?.forget(id);
    return id;
  }

  #byHeading(domain: string, heading: string): number | undefined {
    const sql = 'SELECT id FROM chunks WHERE domain = ? AND heading = ?';
    return this.#database.prepare<{ id: number }>(sql).get(domain, heading)?.id;
  }

  #get(id: number): Chunk | undefined {
    return this.#database.prepare<Chunk>(`SELECT ${columns} FROM chunks WHERE id = ?`).get(id);
  }

  #matchWords(query: string, count: number): { every: Chunk[]; some: Chunk[] } {
    const words = queryWords(query);
    if (words.length === 0) return { every: [], some: [] };
    const every = this.#match(matchAll(words), count);
    if (every.length >= count || words.length === 1) return { every, some: [] };
    const seen = new Set(every.map(({ id }) => id));
    return { every, some: this.#match(matchAny(words), count).filter(({ id }) => !seen.has(id)) };
  }

  #match(query: string, count: number): Chunk[] {
    const sql = `SELECT ${columns} FROM (
        SELECT rowid AS found, rank FROM chunk_words WHERE chunk_words MATCH ? ORDER BY rank LIMIT ?
      ) JOIN chunks ON chunks.id = found ORDER BY rank`;
    return this.#database.prepare<Chunk>(sql).all(query, count);
  }
}
