import { ModelError } from '@trunkline/llm';
import { createBorder, estimateTokens, fenceInstructions } from '@trunkline/loop';
import { z } from 'zod';
import { MARK_INSTRUCTIONS, markCalls } from '../citations/calls.ts';
import { withControls } from '../citations/controls.ts';
import { plainClaim } from '../citations/document.ts';
import { type DraftStatement, readDraft } from '../citations/draft.ts';
import { type CheckedLine, type CheckedSentence, CitationChecker, isSupported } from '../citations/report.ts';
import type { SecondJudge } from '../citations/second-judge.ts';
import type { Repairs } from '../store/findings.ts';
import { oneLine } from '../text/sentences.ts';
import { createCitationJudge } from './citation-judge.ts';
import { type Draft, type DraftWriter, extractNote, readSources, withOwnWords } from './draft-writer.ts';
import type { Dimension } from './job.ts';
import { checkedExcerpt, type Material } from './material.ts';
import { composeReport, type Report, type ReportSection } from './report.ts';
import { ResearchError, type RunContext } from './run-context.ts';

const DEMO_NOTICE =
  'Extractive report by the offline demo model: its sentences are taken from the sources as they stand. Set LLM_GATEWAY_URL for a written one.';

/** Pieces of the report that are stored, and sent, together. */
const BLOCKS_AT_ONCE = 16;

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
      report.claims.some(({ change }) => change === 'dropped')
        ? 'No statement of the draft is borne out by the sources that were read, so there is no report. Start it with `citations: "marked"` to see the statements.'
        : 'The sources that were read have no passage that answers the query, so there is no report.',
    );
  for (
    let sent = jobs.countEvents(id, 'synthesis_delta');
    sent < report.blocks.length;
    sent += BLOCKS_AT_ONCE
  ) {
    signal.throwIfAborted();
    const blocks = report.blocks.slice(sent, sent + BLOCKS_AT_ONCE);
    jobs.commit(
      id,
      blocks.map((text) => ({ type: 'synthesis_delta', data: { text } })),
    );
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  signal.throwIfAborted();
  const sourceCount = findings.countSources(id, 'read');
  const count = report.notes.filter(isExtractive).length;
  const extracts = count > 0 && { extracts: count };
  const events = [
    { type: 'synthesis_complete', data: { sourceCount, citations: report.citations, ...extracts } },
    { type: 'done', data: { researchId: id } },
  ];
  jobs.commit(id, events, () => {
    findings.addClaims(id, report.claims);
    for (const { position, ...note } of report.notes) findings.addNote(id, position, note);
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

async function writeReport(
  context: RunContext,
  writer: DraftWriter,
): Promise<Report & { notes: PlacedNote[] }> {
  const { documents, query, model } = context;
  const read = readSources(context);
  const drafts = withOwnWords(await writer.all());
  const sources = read.map(({ number, source: { id, title, url, documentId } }) => {
    const cited = drafts.flatMap(({ draft, numbers }) => (numbers.includes(number) ? [draft] : []));
    return { number, id, title, url, excerpt: checkedExcerpt(documents, documentId, number, cited) };
  });
  const texts = sources.map(({ number, title, excerpt: { text, isWhole } }) => ({
    number,
    title,
    text,
    isWhole,
  }));
  const problems = new Set<string>();
  const checker = new CitationChecker(texts, {
    own: context.claimModel,
    signal: context.signal,
    model: secondJudge(context, problems),
  });
  const written = drafts.filter(({ draft }) => draft !== '');
  const first = await checker.checkDrafts(
    written.map(({ draft, numbers, dimension: { name, queries } }) => ({
      draft,
      candidates: numbers,
      topics: [query, name, ...queries],
    })),
  );
  const lines = await repairSections(
    context,
    checker,
    written.map((material, index) => ({ material, lines: first[index] ?? [] })),
  );
  const checked = new Map(written.map(({ dimension }, index) => [dimension.position, lines[index]]));
  const headings = await checkHeadings(checker, drafts, (numbers) => [
    query,
    ...texts.flatMap(({ number, title }) => (numbers.includes(number) ? [title] : [])),
  ]);
  const notes = sectionNotes(context, drafts);
  const sections: ReportSection[] = drafts.map(({ dimension, numbers }, index) => ({
    heading: headings[index] ?? plainHeading(dimension.name),
    lines: checked.get(dimension.position) ?? [],
    notes: notes.flatMap(({ position, words }) => (position === dimension.position ? [words] : [])),
    // A gap is no point of the plan that somebody approved.
    ...(dimension.iteration === 1 && { reason: whyEmpty(dimension, numbers.length) }),
  }));
  const shown = new Map(sources.map((source) => [source.number, source]));
  const extracts = notes.filter(isExtractive).map(({ position }) => position);
  const names = drafts.flatMap(({ dimension: { position, name } }) =>
    extracts.includes(position) ? [name] : [],
  );
  const notice = [model.describe().demo ? DEMO_NOTICE : '', extractNotice(names, drafts.length)];
  const report = composeReport({
    query,
    notice: notice.filter(Boolean).join(' '),
    sections,
    sources: shown,
    problems,
    mode: context.options.citations ?? 'marked',
  });
  return { ...report, notes };
}

type PlacedNote = ReturnType<RunContext['findings']['notes']>[number];

/** The stored notes, and one for each section whose sentences we chose. Everything that the demo model writes is an extract. */
function sectionNotes({ id, findings, model }: RunContext, drafts: readonly Draft[]): PlacedNote[] {
  const stored = findings.notes(id).filter(({ kind }) => kind !== 'summary');
  const isExtract = ({ dimension: { position } }: Draft) =>
    stored.some((note) => note.position === position && note.kind === 'extract');
  const chosen = drafts
    .filter((draft) => draft.isChosen && !isExtract(draft) && !model.describe().demo)
    .map(({ dimension: { position } }) => ({
      position,
      kind: 'repeats' as const,
      words: extractNote('what the model wrote only repeats other sections').words,
    }));
  const places = chosen.map(({ position }) => position);
  return [
    ...stored.filter(({ kind, position }) => kind !== 'shortened' || !places.includes(position)),
    ...chosen,
  ];
}

function isExtractive({ kind }: PlacedNote): boolean {
  return kind === 'extract' || kind === 'repeats';
}

function extractNotice(names: readonly string[], total: number): string {
  if (names.length === 0) return '';
  const quoted = names.map((name) => `“${oneLine(name)}”`).join(', ');
  return `${names.length} of ${total} sections are extracts, not written by the model; each says why: ${quoted}.`;
}

function plainHeading(text: string): CheckedSentence {
  return { text, statement: text, kind: 'heading', numbers: [], isClaim: false, citations: [] };
}

/** Names of dimensions that state something are checked too, unless it is what the user asked. */
async function checkHeadings(
  checker: CitationChecker,
  drafts: readonly Pick<Draft, 'dimension' | 'numbers' | 'draft'>[],
  topicsOf: (numbers: readonly number[]) => [query: string, ...titles: string[]],
): Promise<CheckedSentence[]> {
  const read = drafts.map(({ dimension: { name }, numbers: candidates, draft }) => {
    const topics = topicsOf(candidates);
    const asked = topics[0].toLowerCase();
    const [line] = readDraft(`## ${oneLine(name)}\n${draft}`, topics);
    const [statement = plainHeading(name)] = line?.sentences ?? [];
    const own = statement.text.match(/\p{N}[\p{N}.,]*/gu) ?? [];
    const isOwn =
      (own.length === 0 || own.some((figure) => !asked.includes(figure))) &&
      !statement.text.toLowerCase().includes(asked);
    return {
      ...statement,
      text: oneLine(name),
      numbers: [],
      candidates,
      isClaim: statement.isClaim && isOwn,
      mayBeTopic: own.length === 0,
    };
  });
  const checked = await checker.checkStatements(read);
  // A point of the plan is named whatever it says, and is a topic where no model says otherwise.
  return checked.map(({ change, ...heading }) =>
    change === 'withheld' || heading.mayBeTopic ? { ...heading, isClaim: false } : heading,
  );
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
  const onProblem = (words: string) => problems.add(words);
  const judge = createCitationJudge({
    model,
    ask: { ...ask, signal },
    limit: budget.inTime(AbortSignal.timeout(settings.checksTimeoutMs)),
    mayAsk: (tokens) => !isSent && tokens <= budget.tokensLeft('report'),
    atOnce: options.budget.tokens === undefined ? JUDGED_AT_ONCE : 1,
    memory: {
      recall: () => findings.opinions(id),
      store: (opinions) => jobs.commit(id, [], () => findings.addOpinions(id, opinions)),
    },
    onProblem,
  });
  return withControls(judge, model.judgeRecord(), onProblem);
}

const INSTRUCTIONS = `You repair statements of a report that did not stand up to a check against their sources. For each numbered statement give, as "text", what the passages say on it, with the number of each passage that bears it out behind it, as [3] or [3][5]; or an empty text to drop it.
Use only the passages. Keep numbers, names, dates and reservations exactly as they are. A cell of a table stands with its row and column: give the new words of the cell alone.`;

const schema = z.object({ repairs: z.array(z.object({ statement: z.number().int(), text: z.string() })) });

/** Statements of one section that are sent back at most. */
const MOST_STATEMENTS = 24;
const ANSWER_TOKENS = 60;

/** A section whose statements were checked. */
interface CheckedSection {
  material: Material;
  lines: CheckedLine[];
}

/**
 * Sends statements that failed back to the writer, once, with the passages of their section: it repairs or drops them, and
 * what it writes is checked like the rest. The answer is stored, so that a restart gives the same report.
 */
async function repairSections(
  context: RunContext,
  checker: CitationChecker,
  sections: readonly CheckedSection[],
): Promise<CheckedLine[][]> {
  const repairs = await Promise.all(sections.map((section) => repairsFor(context, section)));
  const repaired = sections.map(({ material: { numbers }, lines }, index) =>
    lines.map((line) => ({
      ...line,
      sentences: line.sentences.flatMap((sentence) =>
        replaced(sentence, repairs[index] ?? {}).map((statement) => ({ statement, candidates: numbers })),
      ),
    })),
  );
  const fresh = repaired
    .flat()
    .flatMap(({ sentences }) => sentences.filter(({ statement }) => isOpen(statement)));
  const checked = await checker.checkStatements(
    fresh.map(({ statement, candidates }) => ({ ...statement, candidates })),
  );
  const byStatement = new Map(fresh.map(({ statement }, index) => [statement, checked[index]]));
  return repaired.map((lines) =>
    lines.map((line) => ({
      ...line,
      sentences: line.sentences.map(({ statement }) =>
        isOpen(statement) ? finished(byStatement.get(statement), statement) : statement,
      ),
    })),
  );
}

function isOpen(statement: DraftStatement | CheckedSentence): statement is DraftStatement {
  return !('citations' in statement);
}

function finished(checked: CheckedSentence | undefined, statement: DraftStatement): CheckedSentence {
  return { ...statement, citations: [], ...checked, change: checked?.change ?? 'repaired' };
}

/** The statement as it was, or what the writer made of it. */
function replaced(sentence: CheckedSentence, repairs: Repairs): (CheckedSentence | DraftStatement)[] {
  const words = isFailed(sentence) ? repairs[sentence.statement] : undefined;
  if (words === undefined) return [sentence];
  if (words === null) return [{ ...sentence, change: 'dropped' }];
  const given = readDraft(words).flatMap(({ sentences }) => sentences);
  if (sentence.kind !== 'cell') return given.map((each) => ({ ...each, kind: sentence.kind }));
  const place = sentence.statement.slice(0, -plainClaim(sentence.text).length);
  return given
    .slice(0, 1)
    .map((each) => ({ ...each, kind: 'cell', statement: `${place}${plainClaim(each.text)}` }));
}

/** Judged and not borne out, or cites nothing; what nobody judged has not failed. */
function isFailed(sentence: CheckedSentence): boolean {
  const { isClaim, change, citations } = sentence;
  if (!isClaim || change === 'withheld' || isSupported(sentence)) return false;
  return citations.every(({ verdict }) => verdict.judge !== 'none');
}

async function repairsFor(context: RunContext, { material, lines }: CheckedSection): Promise<Repairs> {
  const { id, jobs, findings, model, logger, signal } = context;
  const { position } = material.dimension;
  const known = findings.repairs(id).get(position);
  if (known !== undefined) return known;
  const failed = lines.flatMap(({ sentences }) => sentences.filter(isFailed)).slice(0, MOST_STATEMENTS);
  const isSent = jobs.countEvents(id, 'synthesis_delta') > 0;
  if (failed.length === 0 || isSent || model.describe().demo || material.passages.length === 0) return {};
  try {
    const repairs = await askForRepairs(context, material, failed);
    jobs.commit(id, [], () => findings.addRepairs(id, position, repairs));
    return repairs;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ModelError)) throw error;
    logger.warn(
      { err: error, researchId: id, section: material.dimension.name },
      'failed to repair statements',
    );
    return {};
  }
}

async function askForRepairs(
  { model, ask, budget, signal: caller }: RunContext,
  { passages }: Material,
  failed: readonly CheckedSentence[],
): Promise<Repairs> {
  const border = createBorder();
  const instructions = `${INSTRUCTIONS}\n${fenceInstructions(border)}\n${MARK_INSTRUCTIONS}`;
  const list = failed.map(
    ({ statement, citations }, index) =>
      `Statement ${index + 1}: ${statement.replace(/\s+/g, ' ')} (${citations[0]?.verdict.reason || 'no source bears it out'})`,
  );
  const material = passages.map(({ number, text }) => `[${number}] ${markCalls(text)}`);
  const prompt = [`${list.join('\n')}\n<${border}>`, ...material, `</${border}>`].join('\n\n');
  const tokens = estimateTokens(instructions) + estimateTokens(prompt) + failed.length * ANSWER_TOKENS;
  if (!budget.hasRoomFor(tokens)) return {};
  const answer = await budget.within('report', caller, (signal) =>
    model.object(schema, { ...ask, signal, instructions, prompt, by: 'writer' }),
  );
  const given = answer?.repairs ?? [];
  return Object.fromEntries(
    given.flatMap(({ statement: number, text }) => {
      const statement = failed[number - 1]?.statement;
      return statement === undefined ? [] : [[statement, text.trim() === '' ? null : text.trim()]];
    }),
  );
}
