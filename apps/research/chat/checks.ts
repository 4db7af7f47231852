import type { Chart } from '@trunkline/std/chart';
import type { CheckedAnswer } from '../api-types.ts';
import { CitationChecker } from '../citations/report.ts';
import { type AnswerJudgeDeps, answerJudge } from '../research/follow-up.ts';
import { composeAnswer } from '../research/report.ts';
import type { DocumentStore } from '../store/documents.ts';
import { figuresOf } from './charts.ts';
import type { NumberedResult } from './tools.ts';

export interface AnswerCheckDeps extends AnswerJudgeDeps {
  documents: Pick<DocumentStore, 'excerpt'>;
}

/** Parts of a long file that an answer is checked against. */
const CHECKED_PARTS = 16;
/** The reader has the answer already: its marks do not come much later. */
const LONGEST_MS = 20_000;

/**
 * Checks every statement of an answer against the results it cites, and every figure of its charts against all results:
 * files and offline works by their stored text, pages by what the search showed of them, of which nothing is ever surely
 * missing.
 */
export async function checkAnswer(
  answer: string,
  charts: readonly Chart[],
  results: readonly NumberedResult[],
  deps: AnswerCheckDeps,
  asked: Parameters<typeof answerJudge>[1],
  questions: readonly string[],
): Promise<CheckedAnswer> {
  const drafts = [answer, ...charts.map(figuresOf)];
  const sources = results.map(({ number, title, url, snippet, documentId }) => {
    const stored =
      documentId === undefined ? undefined : deps.documents.excerpt(documentId, drafts, CHECKED_PARTS);
    const excerpt = stored?.text === '' ? undefined : stored;
    return { id: number, number, title, url, excerpt, text: excerpt?.text ?? snippet };
  });
  const texts = sources.map(({ number, title, text, excerpt }) => ({
    number,
    title,
    text,
    isWhole: excerpt?.isWhole ?? false,
  }));
  const checksTimeoutMs = Math.min(deps.settings.checksTimeoutMs, LONGEST_MS);
  const judges = {
    own: deps.claimModel,
    signal: asked.signal,
    model: answerJudge({ ...deps, settings: { ...deps.settings, checksTimeoutMs } }, asked),
  };
  const candidates = texts.map(({ number }) => number);
  const topics = [...questions, ...texts.map(({ title }) => title)];
  const checked = await new CitationChecker(texts, judges).checkDrafts(
    drafts.map((draft) => ({ draft, candidates, topics })),
  );
  const byNumber = new Map(sources.map((source) => [source.number, source]));
  const numbers = new Map(sources.map(({ number }) => [number, number]));
  const [lines = [], ...figures] = checked;
  return {
    ...composeAnswer(lines, byNumber, numbers),
    ...(charts.length > 0 && { figures: figures.map((each) => composeAnswer(each, byNumber, numbers)) }),
  };
}
