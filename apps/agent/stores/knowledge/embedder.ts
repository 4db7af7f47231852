import { ParserPool } from '@trunkline/documents';
import type { ModelGateway } from '@trunkline/llm';
import type { Database } from '@trunkline/storage';
import type { VectorIndex } from './vector-index.ts';

const BATCH = 16;

/** The model reads no more than the beginning of a text. */
const MAX_TEXT_LENGTH = 2000;

/** Turns texts into vectors whose angle tells how close their meanings are. */
export interface Embedder {
  /** Vectors of different models cannot be compared, so each is stored with this. */
  model: string;
  /** Vectors less alike than this are taken for unrelated. */
  leastLikeness: number;
  embed(texts: readonly string[]): Promise<number[][]>;
  close(): Promise<void>;
}

/** An embedder behind a model endpoint. */
export function endpointEmbedder(
  model: string,
  embed: (texts: readonly string[]) => Promise<number[][]>,
): Embedder {
  return { model, leastLikeness: 0.35, embed, close: async () => undefined };
}

interface EmbeddingSource {
  /** A model's name, `bundled` or `off`. */
  readonly embeddings: string;
  /** Can embed where the model has an endpoint. */
  readonly gateway: Pick<ModelGateway, 'embed'>;
}

/** The embedder that counts at the moment: the same as before until another model is named. */
export function liveEmbedder(source: EmbeddingSource): () => Embedder | undefined {
  let chosen: { name: string; embedder: Embedder | undefined } | undefined;
  return () => {
    const isThere = source.embeddings === 'off' || source.gateway.embed !== undefined;
    const name = isThere ? source.embeddings : 'bundled';
    if (chosen?.name !== name) chosen = { name, embedder: createEmbedder(name, source) };
    return chosen.embedder;
  };
}

function createEmbedder(name: string, source: EmbeddingSource): Embedder | undefined {
  if (name === 'off') return undefined;
  if (name === 'bundled') return bundledEmbedder();
  return endpointEmbedder(name, async (texts) => {
    const { embed } = source.gateway;
    if (embed === undefined) throw new Error(`${name} has no endpoint any more`);
    return await embed(texts);
  });
}

const TIMEOUT_MS = 60_000;
/** The model holds about 100 MB. */
const IDLE_MS = 300_000;

/**
 * The sentence embeddings that come as an optional package, in a process of their own that starts with the first text and
 * ends when it has had nothing to do for a while.
 */
export function bundledEmbedder(script = new URL('./embedding-worker.ts', import.meta.url)): Embedder {
  const pool = new ParserPool<readonly string[], number[][]>({
    script,
    threads: 1,
    timeoutMs: TIMEOUT_MS,
    idleMs: IDLE_MS,
    native: true,
  });
  return {
    model: 'bundled-minilm',
    leastLikeness: 0.3,
    embed: (texts) => pool.run(texts),
    close: () => pool.stop(),
  };
}

interface Text {
  id: number;
  heading: string;
  content: string;
}

/** Gives chunks their vectors in the background; the database itself is the queue, so a restart goes on. */
export class EmbeddingQueue {
  readonly #database: Database;
  readonly #embedder: Embedder;
  readonly #vectors: VectorIndex;
  readonly #logger: { warn(fields: object, message: string): void };
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(
    database: Database,
    embedder: Embedder,
    vectors: VectorIndex,
    logger: { warn(fields: object, message: string): void },
  ) {
    this.#database = database;
    this.#embedder = embedder;
    this.#vectors = vectors;
    this.#logger = logger;
  }

  /** Begins to work, unless it does already. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  async settled(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#embedder.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    // The caller's transaction ends first.
    await Promise.resolve();
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (let batch = this.#next(); batch.length > 0 && !this.#stopped; batch = this.#next())
          await this.#embed(batch);
      }
    } catch (error) {
      if (!this.#stopped) this.#logger.warn({ err: error }, 'failed to embed; recall uses keywords only');
    } finally {
      this.#running = undefined;
    }
  }

  /** The newest chunks without a vector of this model. */
  #next(): Text[] {
    const sql = `SELECT id, heading, content FROM chunks
      WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.id = chunks.id AND model = ?)
      ORDER BY id DESC LIMIT ${BATCH}`;
    return this.#database.prepare<Text>(sql).all(this.#embedder.model);
  }

  async #embed(batch: Text[]): Promise<void> {
    const texts = batch.map(({ heading, content }) =>
      `${heading} ${content}`.trim().slice(0, MAX_TEXT_LENGTH),
    );
    const vectors = await this.#embedder.embed(texts);
    if (this.#stopped) return;
    for (const [index, { id, heading, content }] of batch.entries()) {
      const vector = vectors[index];
      if (vector !== undefined && this.#isCurrent(id, heading, content)) this.#vectors.put(id, vector);
    }
  }

  /** A chunk may have been changed or removed while its vector was made. */
  #isCurrent(id: number, heading: string, content: string): boolean {
    const sql = 'SELECT 1 FROM chunks WHERE id = ? AND heading = ? AND content = ?';
    return this.#database.prepare(sql).get(id, heading, content) !== undefined;
  }
}
