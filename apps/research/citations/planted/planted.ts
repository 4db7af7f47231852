import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkClaim, prepareDocument } from '../check.ts';

/** A claim made up for a passage, and whether the passage bears it out. */
export interface PlantedClaim {
  title: string;
  passage: string;
  claim: string;
  isTrue: boolean;
}

/** How well the checker tells true citations from false ones. */
export interface CheckerScore {
  precision: number;
  recall: number;
  total: number;
  mistakes: string[];
}

/** `tuning` is for working on the rules; `held-out` only for measuring them: rules are never changed to fit it. */
export function plantedClaims(set: 'tuning' | 'held-out'): PlantedClaim[] {
  const text = readFileSync(join(import.meta.dirname, `${set}.txt`), 'utf8');
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

/** Precision: of the claims let through, the share that is true. Recall: of the true claims, the share let through. */
export function scoreChecker(claims: readonly PlantedClaim[]): CheckerScore {
  const judged = claims.map((planted) => ({
    planted,
    verdict: checkClaim(planted.claim, prepareDocument(planted.title, planted.passage)),
  }));
  const passed = judged.filter(({ verdict }) => verdict.supported);
  const right = passed.filter(({ planted }) => planted.isTrue).length;
  const wrong = judged.filter(({ planted, verdict }) => verdict.supported !== planted.isTrue);
  return {
    precision: right / Math.max(1, passed.length),
    recall: right / Math.max(1, claims.filter(({ isTrue }) => isTrue).length),
    total: claims.length,
    mistakes: wrong.map(
      ({ planted, verdict }) =>
        `${planted.isTrue ? 'missed' : 'passed'}: ${planted.claim} (${verdict.score.toFixed(2)} ${verdict.reason})`,
    ),
  };
}
