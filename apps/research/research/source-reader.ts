import type { JobSource } from '../api-types.ts';
import { isAllowed } from './domains.ts';
import { type Fingerprint, fingerprintOf, isNearDuplicate } from './duplicates.ts';
import type { RunContext } from './run-context.ts';

/** Reads the sources of one job, each once however many dimensions use it, and merges those that say the same. */
export class SourceReader {
  readonly #context: RunContext;
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #known = new Map<number, Fingerprint>();

  constructor(context: RunContext) {
    this.#context = context;
    const { findings, documents, id } = context;
    for (const { id: sourceId, url, state, documentId } of findings.sources(id))
      if (state === 'read') this.#known.set(sourceId, fingerprintOf(documents.opening(documentId), url));
  }

  async readAll(sources: readonly JobSource[]): Promise<void> {
    const open = sources.filter(({ state }) => state === 'found');
    await Promise.all(open.map((source) => this.#readOnce(source)));
  }

  #readOnce(source: JobSource): Promise<void> {
    const running = this.#underWay.get(source.id) ?? this.#read(source);
    this.#underWay.set(source.id, running);
    return running;
  }

  async #read(source: JobSource): Promise<void> {
    const { reader, stopSignal, budget } = this.#context;
    if (budget.spent('research') === 'seconds')
      return this.#fail(source, 'The time allowed for this research was up.');
    const { url, title, snippet, engine, documentId, published } = source;
    const result = {
      url,
      title,
      snippet,
      source: engine,
      ...(documentId !== null && { documentId }),
      ...(published !== null && { publishedDate: published }),
    };
    const signal = AbortSignal.any([stopSignal, budget.timeSignal()]);
    const reading = await reader.read(result, signal).catch((error: unknown) => {
      stopSignal.throwIfAborted();
      if (signal.aborted) return { problem: 'The time allowed for this research was up.' };
      throw error;
    });
    if ('problem' in reading) return this.#fail(source, reading.problem);
    const { document } = reading;
    if (document.kind === 'page' && !isAllowed(document.url, this.#context.options.domains))
      return this.#fail(source, `${url} redirected to ${document.url}, which the domain lists exclude.`);
    this.#keep(source, document.id, document.title);
  }

  #fail(source: JobSource, problem: string): void {
    const { jobs, findings, id } = this.#context;
    jobs.commit(id, [], () => findings.setSource(source.id, { state: 'failed', problem }));
  }

  /** A text that is there already in another source is noted as its duplicate. */
  #keep(source: JobSource, documentId: number, title: string): void {
    const { jobs, findings, documents, id } = this.#context;
    const fingerprint = fingerprintOf(documents.opening(documentId), source.url);
    const twin = [...this.#known].find(([, other]) => isNearDuplicate(fingerprint, other))?.[0];
    if (twin === undefined) this.#known.set(source.id, fingerprint);
    jobs.commit(id, [], () =>
      findings.setSource(source.id, {
        state: twin === undefined ? 'read' : 'duplicate',
        documentId,
        title,
        ...(twin !== undefined && { duplicateOf: twin }),
      }),
    );
  }
}
