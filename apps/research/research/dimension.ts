import { createBorder, fenceInstructions } from '@trunkline/loop';
import { z } from 'zod';
import type { JobSource } from '../api-types.ts';
import { MARK_INSTRUCTIONS, markCalls, withoutCalls } from '../citations/calls.ts';
import type { FoundResult } from '../sources/search-aggregator.ts';
import { canonicalUrl, type Fingerprint, fingerprintOf, isNearDuplicate } from './duplicates.ts';
import { type Dimension, isAllowed, type Passage } from './job.ts';
import { passagesOfSource } from './material.ts';
import type { RunContext } from './run-context.ts';

const GOOD_ENDINGS = /\.(?:gov|edu|mil|int)(?:\.[a-z]{2})?$|\.ac\.[a-z]{2}$/;

const REFERENCE =
  /(?:^|\.)(?:wikipedia\.org|britannica\.com|nature\.com|science\.org|nih\.gov|who\.int|europa\.eu|arxiv\.org|ieee\.org|acm\.org|un\.org|oecd\.org|worldbank\.org)$/;

const WEAK =
  /(?:^|\.)(?:pinterest\.[a-z.]+|quora\.com|facebook\.com|instagram\.com|tiktok\.com|x\.com|twitter\.com|reddit\.com|medium\.com|blogspot\.com|fandom\.com|answers\.com)$/;

/**
 * Researches one dimension: searches, reads, sums up. Each step is written down with its events,
 * so that after a restart the dimension goes on behind the last step that was done.
 */
export async function researchDimension(
  context: RunContext,
  dimension: Dimension,
  reading: SourceReader,
): Promise<void> {
  const { id, jobs, findings } = context;
  const { position, name } = dimension;
  if (dimension.state === 'planned')
    jobs.commit(id, [{ type: 'dimension_started', data: { dimension: name, index: position } }], () =>
      findings.setDimension(id, position, { state: 'started' }),
    );
  if (dimension.state !== 'searched') await search(context, dimension);
  await reading.readAll(findings.sourcesOf(id, position));
  const sources = findings.sourcesOf(id, position).filter(({ state }) => state === 'read');
  const shortened = new Set<string>();
  const { summary, keyFinding } = await sumUp(context, dimension, sources, (why) => shortened.add(why));
  const data = { dimension: name, index: position, summary, keyFinding, sourceCount: sources.length };
  jobs.commit(id, [{ type: 'dimension_complete', data }], () => {
    findings.setDimension(id, position, { state: 'done', summary, keyFinding });
    for (const why of shortened)
      findings.addNote(id, position, {
        kind: 'summary',
        words: `Summed up from less than was found: ${why}.`,
      });
  });
}

const RESULTS_PER_QUERY = 10;

const EXCLUDED =
  'Pages were found, but the domain lists exclude the host of each. A domain that RESEARCH_DENY_DOMAINS or the deny list of this research names, or that RESEARCH_ALLOW_DOMAINS leaves out, is never read, even if the allow list names it too.';

async function search(context: RunContext, dimension: Dimension): Promise<void> {
  const { id, jobs, findings, options, owner, aggregator, budget, stopSignal } = context;
  const signal = budget.inTime(stopSignal);
  const answers = await Promise.all(
    dimension.queries.map((text) =>
      searchOnce(
        () => aggregator.search({ text, limit: RESULTS_PER_QUERY, owner }, options.sources, signal),
        stopSignal,
      ),
    ),
  );
  const results = answers.flatMap((answer) => answer.results);
  const allowed = results.filter(({ url }) => isAllowed(url, options.domains));
  const chosen = choose(context, allowed);
  const excluded = results.length > 0 && allowed.length === 0 ? [EXCLUDED] : [];
  const troubles = [...new Set([...answers.flatMap((answer) => answer.troubles), ...excluded])];
  const events = chosen.map(({ title, url, snippet }) => ({
    type: 'dimension_source',
    data: { title, url, snippet, dimension: dimension.name, index: dimension.position },
  }));
  jobs.commit(id, events, () => {
    for (const result of chosen)
      findings.addSource(id, dimension.position, toSource(result, aggregator.isReference(result.source)));
    findings.setDimension(id, dimension.position, { state: 'searched', troubles });
  });
}

/** When the job's time is up, a search gives nothing; only a stop of the service breaks it off. */
async function searchOnce<Answer extends { results: FoundResult[]; troubles: string[] }>(
  work: () => Promise<Answer>,
  stopSignal: AbortSignal,
): Promise<{ results: FoundResult[]; troubles: string[] }> {
  try {
    return await work();
  } catch (error) {
    stopSignal.throwIfAborted();
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return { results: [], troubles: ['The time allowed for this research was up.'] };
    throw error;
  }
}

/** The best of the results, as many as the dimension and the budget allow. */
function choose(
  { id, findings, options, settings, aggregator }: RunContext,
  allowed: readonly FoundResult[],
): FoundResult[] {
  const unique = [
    ...new Map(allowed.toReversed().map((result) => [canonicalUrl(result.url), result])).values(),
  ].toReversed();
  const ranked = unique
    .map((result, rank) => ({
      result,
      worth: qualityOf(result, aggregator.isReference(result.source)) - 0.04 * rank,
    }))
    .sort((left, right) => right.worth - left.worth)
    .map(({ result }) => result)
    .slice(0, settings.sourcesPerDimension);
  const { sources: most } = options.budget;
  if (most === undefined) return ranked;
  const room = most - findings.countSources(id);
  const known = new Set(findings.sources(id).map(({ url }) => canonicalUrl(url)));
  let added = 0;
  return ranked.filter(({ url }) => known.has(canonicalUrl(url)) || ++added <= room);
}

function toSource(result: FoundResult, isReference: boolean) {
  const { url, title, snippet, source, publishedDate, documentId } = result;
  return {
    url,
    canonical: canonicalUrl(url),
    title,
    snippet,
    engine: source,
    quality: qualityOf(result, isReference),
    published: publishedDate ?? null,
    documentId: documentId ?? null,
  };
}

const summarySchema = z.object({ summary: z.string().min(1), keyFinding: z.string().min(1) });
const INSTRUCTIONS =
  'You sum up what sources say about one dimension of a research query. Use only the passages. The summary has at most five sentences; the key finding is one sentence.';
const PASSAGES = 3;

/** What the sources say about the dimension, in the model's words, or in their own when the budget is used up. */
async function sumUp(
  context: RunContext,
  { name, position }: Dimension,
  sources: readonly JobSource[],
  onShortened: (why: string) => void,
): Promise<{ summary: string; keyFinding: string }> {
  const { findings, documents, model, ask, budget, query, id } = context;
  if (sources.length === 0) return nothingFound(findings.dimensions(id)[position]?.troubles ?? []);
  const passages = sources.flatMap(({ documentId }) =>
    bestOf(passagesOfSource(context, documentId, name)).map((passage) => passage.text),
  );
  const [plain = ''] = withoutCalls([
    passages[0] ?? documents.opening(sources[0]?.documentId ?? null).slice(0, 300),
  ]);
  if (passages.length === 0) return { summary: plain, keyFinding: plain.slice(0, 200) };
  const border = createBorder();
  const fenced = [`<${border}>`, ...passages.map(markCalls), `</${border}>`].join('\n\n');
  const prompt = `Research query: ${query}\nDimension: ${name}\n${fenced}`;
  const instructions = `${INSTRUCTIONS}\n${fenceInstructions(border)}\n${MARK_INSTRUCTIONS}`;
  const written = await budget.within(
    'research',
    ask.signal,
    (signal, tokensLeft) =>
      model.object(summarySchema, { ...ask, signal, tokensLeft, onShortened, instructions, prompt }),
    onShortened,
  );
  // Shown as they are and read by the model that looks for gaps.
  const [summary = '', keyFinding = ''] = withoutCalls(
    [written?.summary ?? '', written?.keyFinding ?? ''],
    passages,
  );
  return { summary: summary || plain, keyFinding: keyFinding || plain.slice(0, 200) };
}

/** The best few, in the order of the text. */
function bestOf(passages: readonly Passage[]): Passage[] {
  const best = new Set(passages.toSorted((left, right) => right.score - left.score).slice(0, PASSAGES));
  return passages.filter((passage) => best.has(passage));
}

function nothingFound(troubles: readonly string[]): { summary: string; keyFinding: string } {
  const words = ['No source was found for this dimension.', ...troubles].join(' ');
  return { summary: words, keyFinding: '' };
}

/** How much a result can be trusted before it is read, from 0 to 1, by who publishes it and how it was found. */
export function qualityOf(result: FoundResult, isReference: boolean): number {
  const host = URL.parse(result.url)?.hostname.toLowerCase();
  if (host === undefined) return 0.9;
  let quality = 0.5;
  if (GOOD_ENDINGS.test(host)) quality += 0.25;
  if (REFERENCE.test(host) || isReference) quality += 0.25;
  if (WEAK.test(host)) quality -= 0.3;
  if (result.url.startsWith('https:')) quality += 0.05;
  quality += Math.min(0.15, 0.05 * ((result.engines?.length ?? 1) - 1));
  if (result.publishedDate !== undefined) quality += 0.05;
  if (result.snippet.length < 40) quality -= 0.1;
  return Math.min(1, Math.max(0, quality));
}

type SourceChange = Parameters<RunContext['findings']['setSource']>;

const STORE_EVERY_MS = 1000;

/** Reads the sources of one job, each once however many dimensions use it, and merges those that say the same. */
export class SourceReader {
  readonly #context: RunContext;
  readonly #underWay = new Map<number, Promise<void>>();
  readonly #known = new Map<number, Fingerprint>();
  /** What is not stored yet of the pages that were read or could not be. */
  #changes: SourceChange[] = [];
  #storedAt = performance.now();

  constructor(context: RunContext) {
    this.#context = context;
    const { findings, documents, id } = context;
    for (const { id: sourceId, url, state, documentId } of findings.sources(id))
      if (state === 'read') this.#known.set(sourceId, fingerprintOf(documents.opening(documentId), url));
  }

  async readAll(sources: readonly JobSource[]): Promise<void> {
    const open = sources.filter(({ state }) => state === 'found');
    try {
      await Promise.all(open.map((source) => this.#readOnce(source)));
    } finally {
      this.#store();
    }
  }

  /** Pages of a dimension are noted together, or with the first that comes a second after the last note. */
  #note(change: SourceChange): void {
    this.#changes.push(change);
    if (performance.now() - this.#storedAt >= STORE_EVERY_MS) this.#store();
  }

  #store(): void {
    const { jobs, findings, id } = this.#context;
    const changes = this.#changes;
    this.#storedAt = performance.now();
    if (changes.length === 0) return;
    jobs.commit(id, [], () => {
      for (const [sourceId, change] of changes) findings.setSource(sourceId, change);
    });
    this.#changes = [];
  }

  #readOnce(source: JobSource): Promise<void> {
    const running = this.#underWay.get(source.id) ?? this.#read(source);
    this.#underWay.set(source.id, running);
    return running;
  }

  async #read(source: JobSource): Promise<void> {
    const { reader, owner, stopSignal, budget } = this.#context;
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
    const signal = budget.inTime(stopSignal);
    const reading = await reader.read(result, owner, signal).catch((error: unknown) => {
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
    this.#note([source.id, { state: 'failed', problem }]);
  }

  /** A text that is there already in another source is noted as its duplicate. */
  #keep(source: JobSource, documentId: number, title: string): void {
    const { documents } = this.#context;
    const fingerprint = fingerprintOf(documents.opening(documentId), source.url);
    const twin = [...this.#known].find(([, other]) => isNearDuplicate(fingerprint, other))?.[0];
    if (twin === undefined) this.#known.set(source.id, fingerprint);
    this.#note([
      source.id,
      {
        state: twin === undefined ? 'read' : 'duplicate',
        documentId,
        title,
        ...(twin !== undefined && { duplicateOf: twin }),
      },
    ]);
  }
}
