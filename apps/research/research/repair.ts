import { ModelError } from '@trunkline/llm';
import { createBorder, estimateTokens, fenceInstructions } from '@trunkline/loop';
import { z } from 'zod';
import { markCalls } from '../citations/calls.ts';
import { plainClaim } from '../citations/document.ts';
import { type DraftStatement, readDraft } from '../citations/draft.ts';
import {
  type CheckedLine,
  type CheckedSentence,
  type CitationChecker,
  isSupported,
} from '../citations/report.ts';
import type { Repairs } from '../store/findings.ts';
import type { Material } from './material.ts';
import type { RunContext } from './run-context.ts';

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
export async function repairSections(
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
  const instructions = `${INSTRUCTIONS}\n${fenceInstructions(border)}`;
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
