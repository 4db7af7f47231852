import { ParserError, ParserPool, type ParserPoolOptions } from '@trunkline/tools';
import { type Extracted, ExtractionError, type Raw } from './extracted.ts';

/** Files may be large: ten times what `fetch_url` reads. */
const limits = { timeoutMs: 20_000, memoryMb: 512 };

/** Threads that take texts out of pages and files. */
export class ExtractionPool {
  readonly #pool: ParserPool<Raw, Extracted>;

  constructor(options: Omit<ParserPoolOptions, 'script'> = {}) {
    const script = new URL('./extraction-worker.ts', import.meta.url);
    this.#pool = new ParserPool({ script, ...limits, ...options });
  }

  /** Starts the threads before there is work for them. */
  warm(): void {
    this.#pool.warm();
  }

  /** The text of a page or file; rejects with an ExtractionError whose words complete the sentence "it ...". */
  async extract(raw: Raw, signal?: AbortSignal): Promise<Extracted> {
    try {
      return await this.#pool.run(raw, signal);
    } catch (error) {
      if (error instanceof ParserError) throw new ExtractionError(error.message, { cause: error });
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.#pool.stop();
  }
}
