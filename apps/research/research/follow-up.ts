import type { JobSource } from '../api-types.ts';
import type { ClaimModel } from '../citations/claim-model/claim-model.ts';
import { withControls } from '../citations/controls.ts';
import { CitationChecker } from '../citations/report.ts';
import type { SecondJudge } from '../citations/second-judge.ts';
import type { DocumentStore } from '../store/documents.ts';
import type { AnswerStore, FindingStore, StoredAnswer } from '../store/findings.ts';
import type { JobStore } from '../store/jobs.ts';
import { type CitationJudgeDeps, createCitationJudge } from './citation-judge.ts';
import { extract, extractNote, writeFrom } from './draft-writer.ts';
import type { Job } from './job.ts';
import { checkedExcerpt, type NumberedPassage, passagesIn } from './material.ts';
import type { ResearchModel } from './model.ts';
import { composeAnswer } from './report.ts';
import type { ResearchSettings } from './run-context.ts';

export interface FollowUpDeps {
  jobs: JobStore;
  findings: FindingStore;
  documents: DocumentStore;
  answers: AnswerStore;
  model: ResearchModel;
  claimModel: ClaimModel;
  settings: Pick<ResearchSettings, 'modelChecks' | 'checksTimeoutMs'>;
}

type Ask = CitationJudgeDeps['ask'];

interface NumberedText extends Pick<JobSource, 'id' | 'title' | 'url' | 'documentId'> {
  number: number;
}

const PASSAGES_PER_SOURCE = 3;
const MOST_PASSAGES = 12;
const NOTHING =
  'The stored sources of this report have no passage that answers this. Start new research on it.';

/** Answers a question from the stored sources of a job alone; every citation is checked as in the report. */
export async function answerFollowUp(
  deps: FollowUpDeps,
  job: Job,
  question: string,
  asked: Pick<Ask, 'signal' | 'principal'>,
): Promise<StoredAnswer> {
  const { jobs, answers, model, documents, findings } = deps;
  const read = numberSources(findings.sources(job.id).filter(({ state }) => state === 'read'));
  const passages = bestPassages(documents, read, question);
  if (passages.length === 0) return answers.add(job.id, { question, text: NOTHING, claims: [] });
  const ask = {
    ...asked,
    onSpent: (spending: Parameters<JobStore['spend']>[1]) => jobs.spend(job.id, spending),
  };
  const written = await writeFrom(passages, { model, ask, question, about: '' });
  const draft = written || extract(passages);
  const sources = read.map((source) => ({
    ...source,
    excerpt: checkedExcerpt(documents, source.documentId, source.number, [draft]),
  }));
  const texts = sources.map(({ number, title, excerpt: { text, isWhole } }) => ({
    number,
    title,
    text,
    isWhole,
  }));
  const [lines = []] = await new CitationChecker(texts, {
    own: deps.claimModel,
    signal: asked.signal,
    model: answerJudge(deps, ask),
  }).checkDrafts([{ draft, candidates: texts.map(({ number }) => number), topics: [question] }]);
  const byNumber = new Map(sources.map((source) => [source.number, source]));
  const numbers = new Map(sources.map(({ id, number }) => [id, number]));
  const { text, claims } = composeAnswer(lines, byNumber, numbers, job.options.citations);
  const notice = written === '' ? `_${extractNote('the model returned nothing for it').words}_\n\n` : '';
  return answers.add(job.id, { question, text: `${notice}${text}`, claims });
}

export type AnswerJudgeDeps = Pick<FollowUpDeps, 'model' | 'claimModel' | 'settings'>;

/** The model judges what comparing words cannot settle, as in the report. */
export function answerJudge({ model, settings }: AnswerJudgeDeps, ask: Ask): SecondJudge | undefined {
  if (!settings.modelChecks || model.describe().demo) return undefined;
  const judge = createCitationJudge({
    model,
    ask,
    limit: AbortSignal.timeout(settings.checksTimeoutMs),
    mayAsk: () => model.mayCall(ask.principal),
    atOnce: 2,
    onProblem: () => undefined,
  });
  return withControls(judge, model.judgeRecord(), () => undefined);
}

/** What was read, under the numbers of the report; what it does not cite comes after. */
function numberSources(sources: readonly JobSource[]): NumberedText[] {
  let last = Math.max(0, ...sources.map(({ number }) => number ?? 0));
  return sources.map(({ id, title, url, documentId, number }) => ({
    id,
    title,
    url,
    documentId,
    number: number ?? ++last,
  }));
}

function bestPassages(
  documents: DocumentStore,
  sources: readonly NumberedText[],
  question: string,
): NumberedPassage[] {
  return sources
    .flatMap(({ number, documentId }) =>
      passagesIn(documents, documentId, question, PASSAGES_PER_SOURCE).map((passage) => ({
        ...passage,
        number,
      })),
    )
    .filter(({ score }) => score >= 1)
    .sort((left, right) => right.score - left.score)
    .slice(0, MOST_PASSAGES);
}
