import { draftSection } from './draft.ts';
import { chooseMaterial, type Material, type NumberedSource } from './material.ts';
import type { RunContext } from './run-context.ts';

interface Draft extends Material {
  draft: string;
}

/** What was read, under the numbers that drafts use. A later pass adds sources behind those that are there. */
export function readSources({ id, findings }: RunContext): NumberedSource[] {
  return findings
    .sources(id)
    .map((source, index) => ({ number: index + 1, source }))
    .filter(({ source }) => source.state === 'read');
}

/**
 * Writes the sections of one job side by side. What a section is written from depends only on its own dimension and those
 * before it, so that sections can be begun while the evaluation still looks for gaps. Drafts are stored as they come.
 */
export class DraftWriter {
  readonly #context: RunContext;
  readonly #stop = new AbortController();
  readonly #underWay = new Map<number, Promise<string>>();

  constructor(context: RunContext) {
    this.#context = { ...context, signal: AbortSignal.any([context.signal, this.#stop.signal]) };
  }

  /** Begins every section whose dimension is researched. A section that fails here is tried again by `all`. */
  begin(): void {
    for (const material of this.#materials())
      if (material.dimension.state === 'done')
        this.#write(material).catch((error: unknown) => this.#noteFailure(material, error));
  }

  all(): Promise<Draft[]> {
    return Promise.all(
      this.#materials().map(async (material) => ({ ...material, draft: await this.#write(material) })),
    );
  }

  /** Breaks off what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  #materials(): Material[] {
    return chooseMaterial(this.#context, readSources(this.#context));
  }

  #noteFailure({ dimension }: Material, error: unknown): void {
    const { id, logger, signal } = this.#context;
    if (signal.aborted) return;
    const fields = { err: error, researchId: id, section: dimension.name };
    logger.warn(fields, 'failed to write section ahead; retrying with the report');
  }

  #write(material: Material): Promise<string> {
    const { position } = material.dimension;
    const known = this.#context.findings.drafts(this.#context.id).get(position);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#underWay.get(position) ?? this.#writeNew(material);
    this.#underWay.set(position, running);
    return running;
  }

  async #writeNew(material: Material): Promise<string> {
    const { id, jobs, findings } = this.#context;
    const { position } = material.dimension;
    try {
      const draft = await draftSection(this.#context, material);
      jobs.commit(id, [], () => findings.addDraft(id, position, draft));
      return draft;
    } finally {
      this.#underWay.delete(position);
    }
  }
}
