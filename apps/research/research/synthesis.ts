import { CitationChecker } from '../citations/report.ts';
import { draftSection } from './draft.ts';
import { chooseMaterial, type Material, type NumberedSource } from './material.ts';
import { composeReport, type Report, type ReportSection } from './report.ts';
import { ResearchError, type RunContext } from './run-context.ts';

const DEMO_NOTICE =
  'Extractive report by the offline demo model: its sentences are taken from the sources as they stand. Set LLM_GATEWAY_URL for a written one.';

/**
 * Writes the report: a draft for each dimension side by side, every citation checked, then all of it sent out in order.
 * Drafts are stored as they come, and the rest follows from them without chance, so that after a restart
 * the text goes on behind the last piece that was sent.
 */
export async function synthesise(context: RunContext): Promise<void> {
  const { id, jobs, findings, signal } = context;
  const report = await writeReport(context);
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

async function writeReport(context: RunContext): Promise<Report> {
  const { id, findings, documents, query, model } = context;
  const sources: NumberedSource[] = findings
    .sources(id)
    .map((source, index) => ({ number: index + 1, source }));
  const read = sources.filter(({ source }) => source.state === 'read');
  const drafts = await writeDrafts(context, read);
  const texts = read.map(({ number, source }) => ({
    number,
    title: source.title,
    text: documents.get(source.documentId ?? 0)?.text ?? '',
  }));
  const checker = new CitationChecker(texts);
  const sections: ReportSection[] = [];
  for (const { dimension, draft, numbers } of drafts)
    if (draft !== '')
      sections.push({ heading: dimension.name, lines: await checker.checkDraft(draft, numbers) });
  const shown = new Map(
    read.map(({ number, source }) => [number, { id: source.id, title: source.title, url: source.url }]),
  );
  return composeReport({ query, notice: model.describe().demo ? DEMO_NOTICE : '', sections, sources: shown });
}

interface Draft extends Material {
  draft: string;
}

/** The drafts that are not stored yet are written side by side. */
async function writeDrafts(context: RunContext, read: readonly NumberedSource[]): Promise<Draft[]> {
  const { id, jobs, findings } = context;
  const stored = findings.drafts(id);
  return await Promise.all(
    chooseMaterial(context, read).map(async (material) => {
      const { position } = material.dimension;
      const known = stored.get(position);
      if (known !== undefined) return { ...material, draft: known };
      const draft = await draftSection(context, material);
      jobs.commit(id, [], () => findings.addDraft(id, position, draft));
      return { ...material, draft };
    }),
  );
}
