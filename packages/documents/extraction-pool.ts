import { KeyedQueue } from '@trunkline/std';
import { type ExtractedDocument, ExtractionError, NEEDS_RECOGNITION, type RawDocument } from './document.ts';
import { isLight } from './read.ts';
import { ParserError, ParserPool, type ParserPoolOptions } from './threads/parser-pool.ts';

/** Files may be large: ten times what `fetch_url` reads. */
const limits = { timeoutMs: 20_000, memoryMb: 512, residentMb: 1024 };
/** Recognising the text of pictures takes seconds a page and both cores: one document at a time. */
const recognitionLimits = { threads: 1, timeoutMs: 300_000, memoryMb: 512, residentMb: 2048, queue: 20 };
/** Larger ones are read apart from the service, as they may fill the heap of a thread. */
const LARGEST_LIGHT = 1024 * 1024;

const NOT_RECOGNISED = 'is a scan or a picture, whose text is not recognised here';

/** Of a page from the web, waiting for others included. */
const WEB_RECOGNITION_MS = 60_000;

export interface ExtractOptions {
  signal?: AbortSignal | undefined;
  /** Whose document it is: nobody waits for all of somebody else's. */
  owner?: string;
  isFromWeb?: boolean;
  /** False refuses pictures of text at once; recognising them takes up to a minute. */
  mayRecognise?: boolean;
}

/** A document as its readers get it: where its blocks are only matters while it is read, and there may be a million. */
export type ReadDocument = Omit<ExtractedDocument, 'blocks'>;

/** Takes texts out of pages in threads, and out of files, which unpack to more than they are, in processes. */
export class ExtractionPool {
  readonly #pages: ParserPool<RawDocument, ReadDocument>;
  readonly #files: ParserPool<RawDocument, ReadDocument>;
  readonly #recognition: ParserPool<RawDocument, ReadDocument>;

  readonly #owners = new KeyedQueue();

  constructor(options: Omit<ParserPoolOptions, 'script'> = {}) {
    const script = new URL('./extraction-worker.ts', import.meta.url);
    this.#pages = new ParserPool({ script, ...limits, ...options });
    this.#files = new ParserPool({ script, ...limits, ...options, native: true });
    this.#recognition = new ParserPool({ script, ...recognitionLimits, native: true });
  }

  /** Starts the threads for pages before there is work for them. */
  warm(): void {
    this.#pages.warm();
  }

  /**
   * The text of a page or file; rejects with an ExtractionError whose words complete the sentence "it ...". Recognition
   * takes one document of an owner at a time; what comes from the web gets little of it, and none if it has text.
   */
  async extract(
    given: RawDocument,
    { signal, owner = '', isFromWeb = false, mayRecognise = true }: ExtractOptions = {},
  ): Promise<ReadDocument> {
    const raw = { ...given, bytes: withOwnMemory(given.bytes) };
    const pool = raw.bytes.byteLength <= LARGEST_LIGHT && isLight(raw) ? this.#pages : this.#files;
    let read: ReadDocument | undefined;
    try {
      const { hasPictures = false, ...document } = await pool.run(raw, { signal, owner: owner || undefined });
      read = document;
      if (!hasPictures || isFromWeb || !mayRecognise) return document;
    } catch (error) {
      if (!(error instanceof ParserError)) throw error;
      if (error.message !== NEEDS_RECOGNITION) throw new ExtractionError(error.message, { cause: error });
      if (!mayRecognise) throw new ExtractionError(NOT_RECOGNISED, { cause: error });
    }
    const limit = isFromWeb ? AbortSignal.timeout(WEB_RECOGNITION_MS) : undefined;
    const either = AbortSignal.any([signal, limit].filter((each) => each !== undefined));
    try {
      return await this.#owners.run(
        owner,
        () => this.#recognition.run({ ...raw, mayRecognise: true }, { signal: either }),
        { signal: either },
      );
    } catch (error) {
      signal?.throwIfAborted();
      if (read !== undefined) return read;
      if (limit?.aborted)
        throw new ExtractionError(`is a picture of text, which took too long to be recognised`, {
          cause: error,
        });
      if (error instanceof ParserError) throw new ExtractionError(error.message, { cause: error });
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pages.stop(), this.#files.stop(), this.#recognition.stop()]);
  }
}

/** A thread gets a copy of all the memory behind a view: of a small page that is Node's pool of 64 KB. */
function withOwnMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength < bytes.buffer.byteLength / 2 ? new Uint8Array(bytes) : bytes;
}
