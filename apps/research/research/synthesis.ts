import { CitationChecker } from '../citations/report.ts';
import type { SecondJudge } from '../citations/second-judge.ts';
import { oneLine } from '../text/sentences.ts';
import { createCitationJudge } from './citation-judge.ts';
import { type DraftWriter, readSources, withOwnWords } from './draft-writer.ts';
import type { Dimension } from './job.ts';
import { checkedExcerpt } from './material.ts';
import { composeReport, type Report, type ReportSection } from './report.ts';
import { ResearchError, type RunContext } from './run-context.ts';

const DEMO_NOTICE =
  'Extractive report by the offline demo model: its sentences are taken from the sources as they stand. Set LLM_GATEWAY_URL for a written one.';

/**
 * Writes the report: a draft for each dimension side by side, every citation checked, then all of it sent out in order.
 * Drafts are stored as they come, and the rest follows from them without chance, so that after a restart
 * the text goes on behind the last piece that was sent.
 */
export async function synthesise(context: RunContext, drafts: DraftWriter): Promise<void> {
  const { id, jobs, findings, signal } = context;
  const report = await writeReport(context, drafts);
  if (report.citations.total === 0)
    throw new ResearchError(
      'The sources that were read have no passage that answers the query, so there is no report.',
    );
  for (const text of report.blocks.slice(jobs.countEvents(id, 'synthesis_delta'))) {
    signal.throwIfAborted();
    jobs.commit(id, [{ type: 'synthesis_delta', data: { text } }]);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  signal.throwIfAborted();
  const sourceCount = findings.countSources(id, 'read');
  const events = [
    { type: 'synthesis_complete', data: { sourceCount, citations: report.citations } },
    { type: 'done', data: { researchId: id } },
  ];
  jobs.commit(id, events, () => {
    findings.addClaims(id, report.claims);
    for (const [sourceId, number] of report.numbers) findings.setSource(sourceId, { number });
    jobs.update(id, {
      status: 'complete',
      phase: 'done',
      report: report.blocks.join(''),
      citations: report.citations,
      closed: true,
    });
  });
}

async function writeReport(context: RunContext, writer: DraftWriter): Promise<Report> {
  const { documents, query, model } = context;
  const read = readSources(context);
  const drafts = withOwnWords(await writer.all());
  const sources = read.map(({ number, source: { id, title, url, documentId } }) => {
    const cited = drafts.flatMap(({ draft, numbers }) => (numbers.includes(number) ? [draft] : []));
    return { number, id, title, url, excerpt: checkedExcerpt(documents, documentId, number, cited) };
  });
  const texts = sources.map(({ number, title, excerpt }) => ({ number, title, text: excerpt.text }));
  const problems = new Set<string>();
  const checker = new CitationChecker(texts, secondJudge(context, problems));
  const written = drafts.filter(({ draft }) => draft !== '');
  const lines = await checker.checkDrafts(
    written.map(({ draft, numbers }) => ({ draft, candidates: numbers })),
  );
  const checked = new Map(written.map(({ dimension }, index) => [dimension.position, lines[index]]));
  const sections: ReportSection[] = drafts.map(({ dimension, numbers }) => ({
    heading: dimension.name,
    lines: checked.get(dimension.position) ?? [],
    // A gap is no point of the plan that somebody approved.
    ...(dimension.iteration === 1 && { reason: whyEmpty(dimension, numbers.length) }),
  }));
  const shown = new Map(sources.map((source) => [source.number, source]));
  const notice = model.describe().demo ? DEMO_NOTICE : '';
  return composeReport({ query, notice, sections, sources: shown, problems });
}

/** Why the report has nothing on a point of its plan. */
function whyEmpty({ state, troubles }: Dimension, sourceCount: number): string {
  if (state !== 'done') return 'Not researched: the budget was used up before.';
  if (sourceCount > 0) return 'The sources that were read for this point have no passage on it.';
  return [
    'No source that could be read was found for this point.',
    ...troubles.map((words) => oneLine(words)),
  ].join(' ');
}

const JUDGED_AT_ONCE = 4;

/** The model as judge of citations; the demo model never judges. Once text went out only remembered opinions count. */
function secondJudge(context: RunContext, problems: Set<string>): SecondJudge | undefined {
  const { id, jobs, findings, model, settings, budget, ask, signal, options } = context;
  if (!settings.modelChecks || model.describe().demo) return undefined;
  const isSent = jobs.countEvents(id, 'synthesis_delta') > 0;
  return createCitationJudge({
    model,
    ask: { ...ask, signal },
    limit: AbortSignal.any([budget.timeSignal(), AbortSignal.timeout(settings.checksTimeoutMs)]),
    mayAsk: (tokens) => !isSent && budget.hasRoomFor(tokens),
    atOnce: options.budget.tokens === undefined ? JUDGED_AT_ONCE : 1,
    memory: {
      recall: () => findings.opinions(id),
      store: (opinions) => jobs.commit(id, [], () => findings.addOpinions(id, opinions)),
    },
    onProblem: (words) => problems.add(words),
  });
}
