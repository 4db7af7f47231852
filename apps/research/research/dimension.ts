import { z } from 'zod';
import type { JobSource } from '../api-types.ts';
import type { FoundResult } from '../sources/search-aggregator.ts';
import { isAllowed } from './domains.ts';
import { canonicalUrl } from './duplicates.ts';
import type { Dimension } from './job.ts';
import { passagesIn } from './passages.ts';
import { qualityOf } from './quality.ts';
import type { RunContext } from './run-context.ts';
import type { SourceReader } from './source-reader.ts';

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
  const { summary, keyFinding } = await sumUp(context, dimension, sources);
  const data = { dimension: name, index: position, summary, keyFinding, sourceCount: sources.length };
  jobs.commit(id, [{ type: 'dimension_complete', data }], () =>
    findings.setDimension(id, position, { state: 'done', summary, keyFinding }),
  );
}

const RESULTS_PER_QUERY = 10;

async function search(context: RunContext, dimension: Dimension): Promise<void> {
  const { id, jobs, findings, options, aggregator, budget, stopSignal } = context;
  const signal = AbortSignal.any([stopSignal, budget.timeSignal()]);
  const answers = await Promise.all(
    dimension.queries.map((text) =>
      searchOnce(
        () => aggregator.search({ text, limit: RESULTS_PER_QUERY }, options.sources, signal),
        stopSignal,
      ),
    ),
  );
  const chosen = choose(
    context,
    answers.flatMap(({ results }) => results),
  );
  const troubles = [...new Set(answers.flatMap((answer) => answer.troubles))];
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

/** The best results whose hosts may be read, as many as the dimension and the budget allow. */
function choose(
  { id, findings, options, settings, aggregator }: RunContext,
  results: readonly FoundResult[],
): FoundResult[] {
  const allowed = results.filter(({ url }) => isAllowed(url, options.domains));
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
  const room = (options.budget.sources ?? Number.POSITIVE_INFINITY) - findings.countSources(id);
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
  { findings, documents, model, ask, budget, query, id }: RunContext,
  { name, position }: Dimension,
  sources: readonly JobSource[],
): Promise<{ summary: string; keyFinding: string }> {
  if (sources.length === 0) return nothingFound(findings.dimensions(id)[position]?.troubles ?? []);
  const passages = sources.flatMap(({ documentId }) =>
    passagesIn(documents, documentId, `${query} ${name}`, PASSAGES).map((passage) => passage.text),
  );
  const plain = passages[0] ?? documents.opening(sources[0]?.documentId ?? null).slice(0, 300);
  if (passages.length === 0) return { summary: plain, keyFinding: plain.slice(0, 200) };
  const prompt = `Research query: ${query}\nDimension: ${name}\n\n${passages.join('\n\n')}`;
  const written = await budget.within('research', ask.signal, (signal) =>
    model.object(summarySchema, { ...ask, signal, instructions: INSTRUCTIONS, prompt }),
  );
  return written ?? { summary: plain, keyFinding: plain.slice(0, 200) };
}

function nothingFound(troubles: readonly string[]): { summary: string; keyFinding: string } {
  const words = ['No source was found for this dimension.', ...troubles].join(' ');
  return { summary: words, keyFinding: '' };
}
