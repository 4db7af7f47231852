import { CitationChecker } from '../citations/report.ts';
import type { SecondJudge } from '../citations/second-judge.ts';
import type { Answer, AnswerStore } from '../store/answers.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { FindingStore } from '../store/findings.ts';
import type { JobStore } from '../store/jobs.ts';
import { type CitationJudgeParts, createCitationJudge } from './citation-judge.ts';
import { writeFrom } from './draft.ts';
import type { Job, JobSource } from './job.ts';
import type { NumberedPassage } from './material.ts';
import type { ResearchModel } from './model.ts';
import { passagesFor } from './passages.ts';
import { composeAnswer } from './report.ts';
import type { ResearchSettings } from './run-context.ts';

export interface FollowUpParts {
  jobs: JobStore;
  findings: FindingStore;
  documents: DocumentStore;
  answers: AnswerStore;
  model: ResearchModel;
  settings: Pick<ResearchSettings, 'modelChecks' | 'checksTimeoutMs'>;
}

type Ask = CitationJudgeParts['ask'];

interface StoredText {
  number: number;
  id: number;
  title: string;
  url: string;
  text: string;
}

const PASSAGES_PER_SOURCE = 3;
const MOST_PASSAGES = 12;
const NOTHING =
  'The stored sources of this report have no passage that answers this. Start new research on it.';

/** Answers a question from the stored sources of a job alone; every citation is checked as in the report. */
export async function answerFollowUp(
  parts: FollowUpParts,
  job: Job,
  question: string,
  signal: AbortSignal,
): Promise<Answer> {
  const { jobs, answers, model } = parts;
  const texts = storedTexts(parts, job.id);
  const passages = bestPassages(texts, question);
  if (passages.length === 0) return answers.add(job.id, { question, text: NOTHING, claims: [] });
  const ask = {
    signal,
    onSpent: (spending: Parameters<JobStore['spend']>[1]) => jobs.spend(job.id, spending),
  };
  const draft = await writeFrom(passages, { model, ask, question, about: '' });
  const [lines = []] = await new CitationChecker(texts, secondJudge(parts, ask)).checkDrafts([
    { draft, candidates: texts.map(({ number }) => number) },
  ]);
  const sources = new Map(texts.map(({ number, id, title, url }) => [number, { id, title, url }]));
  const numbers = new Map(texts.map(({ id, number }) => [id, number]));
  return answers.add(job.id, { question, ...composeAnswer(lines, sources, numbers) });
}

/** The model judges what the rules cannot settle, as in the report; a failure leaves it to the rules. */
function secondJudge({ model, settings }: FollowUpParts, ask: Ask): SecondJudge | undefined {
  if (!settings.modelChecks || model.describe().demo) return undefined;
  return createCitationJudge({
    model,
    ask,
    limit: AbortSignal.timeout(settings.checksTimeoutMs),
    mayAsk: () => true,
    atOnce: 2,
    onProblem: () => undefined,
  });
}

/** What was read, under the numbers of the report; what it does not cite comes after. */
function storedTexts({ findings, documents }: FollowUpParts, jobId: string): StoredText[] {
  const read = findings.sources(jobId).filter(({ state }) => state === 'read');
  return numberSources(read).map(({ source, number }) => ({
    number,
    id: source.id,
    title: source.title,
    url: source.url,
    text: documents.get(source.documentId ?? 0)?.text ?? '',
  }));
}

/** Each source with its number in the report, or one behind those. */
function numberSources(sources: readonly JobSource[]): { source: JobSource; number: number }[] {
  let last = Math.max(0, ...sources.map(({ number }) => number ?? 0));
  return sources.map((source) => ({ source, number: source.number ?? ++last }));
}

function bestPassages(texts: readonly StoredText[], question: string): NumberedPassage[] {
  return texts
    .flatMap(({ number, text }) =>
      passagesFor(text, question, PASSAGES_PER_SOURCE).map((passage) => ({ ...passage, number })),
    )
    .filter(({ score }) => score >= 1)
    .sort((left, right) => right.score - left.score)
    .slice(0, MOST_PASSAGES);
}
