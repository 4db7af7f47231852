import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkClaim } from '../check.ts';
import { type CheckedDocument, prepareDocument } from '../document.ts';
import type { Verdict } from '../verdict.ts';

/** A claim made up for a passage, and whether the passage bears it out. */
export interface PlantedClaim {
  title: string;
  passage: string;
  claim: string;
  isTrue: boolean;
}

/** How well true citations are told from false ones, and how well the checker knows what it knows. */
export interface CheckerScore {
  total: number;
  /** Of all claims that are let through, the share that is true. */
  precision: number;
  /** Of all true claims, the share that is let through. */
  recall: number;
  /** Of the claims that the checker is sure about, how many are judged rightly. */
  sure: { total: number; right: number; supported: Share; unsupported: Share };
  mistakes: string[];
}

/** One of the two sure verdicts: how often it was given, and how often rightly. */
interface Share {
  total: number;
  right: number;
}

/** The set that the rules were made with. The others only measure them: rules are never changed to fit those. `held-out` has claims
 * that are put freely, `held-out-close` has claims that keep the words of the page, as the writer of reports is told to;
 * `reports-a` and `reports-b` have sentences of reports by authors who never saw the rules. */
const TUNING = 'tuning';

/** The sets of this folder that only measure. */
export function heldOutSets(): string[] {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'));
  return names.map((name) => name.slice(0, -'.txt'.length)).filter((name) => name !== TUNING);
}

/** Where a set lies: the name of one in this folder, or the path of any text file. */
export function fileOf(set: string): string {
  return set.endsWith('.txt') ? set : join(import.meta.dirname, `${set}.txt`);
}

export function plantedClaims(set: string): PlantedClaim[] {
  const text = readFileSync(fileOf(set), 'utf8');
  return text
    .split(/^# /m)
    .slice(1)
    .flatMap((block) => {
      const [title = '', ...lines] = block.trim().split('\n');
      const isClaim = (line: string) => /^[+-] /.test(line);
      const passage = lines.filter((line) => !isClaim(line)).join('\n');
      return lines
        .filter(isClaim)
        .map((line) => ({ title, passage, claim: line.slice(2), isTrue: line.startsWith('+') }));
    });
}

export interface Judged {
  planted: PlantedClaim;
  verdict: Verdict;
}

/** The verdicts of the rules alone. */
export function judgedByRules(claims: readonly PlantedClaim[]): Judged[] {
  const documents = new Map<string, CheckedDocument>();
  return claims.map((planted) => {
    const { title, passage, claim } = planted;
    const document = documents.get(passage) ?? prepareDocument(title, passage);
    documents.set(passage, document);
    return { planted, verdict: checkClaim(claim, document) };
  });
}

export function scoreOf(judged: readonly Judged[]): CheckerScore {
  const passed = judged.filter(({ verdict }) => verdict.supported);
  const sure = judged.filter(({ verdict }) => verdict.certain);
  const right = passed.filter(isRight).length;
  return {
    total: judged.length,
    precision: right / Math.max(1, passed.length),
    recall: right / Math.max(1, judged.filter(({ planted }) => planted.isTrue).length),
    sure: {
      ...shareOf(sure),
      supported: shareOf(sure.filter(({ verdict }) => verdict.supported)),
      unsupported: shareOf(sure.filter(({ verdict }) => !verdict.supported)),
    },
    mistakes: judged.filter((each) => !isRight(each)).map(describeMistake),
  };
}

function isRight({ planted, verdict }: Judged): boolean {
  return verdict.supported === planted.isTrue;
}

function shareOf(judged: readonly Judged[]): Share {
  return { total: judged.length, right: judged.filter(isRight).length };
}

function describeMistake({ planted, verdict }: Judged): string {
  const kind = `${planted.isTrue ? 'missed' : 'passed'}${verdict.certain ? ', and was sure' : ''}`;
  return `${kind}: ${planted.claim} (${verdict.score.toFixed(2)} ${verdict.reason})`;
}
