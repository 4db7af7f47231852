import type { Span } from '../text/sentences.ts';
import { absentFrom } from './absence.ts';
import { type CloseReading, type NameKnowledge, readClosely } from './close-reading.ts';
import { type CheckedDocument, plainClaim } from './document.ts';
import { nearestPassage, promising } from './nearest.ts';
import { type Statement, statementOf } from './statement.ts';
import type { Verdict } from './verdict.ts';

/**
 * Settles what is beyond doubt by comparing words: the claim has the words of the page, or differs from them in one thing
 * that counts, or has a figure that the page lacks. Everything else is not checked until a model judges it.
 */
export function checkClaim(claimText: string, document: CheckedDocument): Verdict {
  const claim = statementOf(plainClaim(claimText));
  const quoted = document.sentences.find(({ statement }) => isQuote(claim, statement));
  if (quoted !== undefined) return certainly(true, '', quoted.span, 1);
  const { passage, score } = nearestPassage(claim, document);
  const read = closeReadings(claim, document);
  const same = read.find(({ reading }) => reading === 'same');
  const other = read.find(({ reading }) => reading !== 'same');
  if (same !== undefined && other === undefined) return certainly(true, '', same.span, 1);
  if (other !== undefined && same === undefined && other.reading !== 'same')
    return certainly(false, DIFFERENCES[other.reading], other.span, score);
  const absent = absentFrom(claim, document.inventory);
  if (absent !== undefined && same === undefined) return certainly(false, absent, passage, score);
  return { supported: false, certain: false, judge: 'none', score, reason: 'no model judged it', passage };
}

const DIFFERENCES: Record<Exclude<CloseReading, 'same'>, string> = {
  denied: 'the passage says the opposite',
  opposite: 'the passage says the opposite',
  figure: 'the passage has another figure',
  hedged: 'the passage says only that it may be so',
  name: 'the passage says it of another',
  share: 'the passage says it of some only',
};

function certainly(supported: boolean, reason: string, passage: Span | undefined, score: number): Verdict {
  return { supported, certain: true, judge: 'rules', score, reason, passage };
}

const QUOTED = 0.85;

/** The claim gives the sentence word for word, but for its very end. */
function isQuote(claim: Statement, sentence: Statement): boolean {
  const { length } = claim.tokens;
  if (length < 4 || length > sentence.tokens.length || length < sentence.tokens.length * QUOTED) return false;
  return claim.tokens.every((token, at) => token.lower === sentence.tokens[at]?.lower);
}

/** The sentences that have nearly the claim's words, and what each says of it. */
function closeReadings(claim: Statement, document: CheckedDocument): { reading: CloseReading; span: Span }[] {
  const names = namesOf(document);
  return promising(claim, document).flatMap((place) => {
    const sentence = document.sentences[place];
    const reading = sentence === undefined ? undefined : readClosely(claim, sentence.statement, names);
    return sentence === undefined || reading === undefined ? [] : [{ reading, span: sentence.span }];
  });
}

function namesOf({ text, inventory }: CheckedDocument): NameKnowledge {
  return {
    isName: (lower) => inventory.names.has(lower),
    areParts: (left, right) => text.includes(`${left} ${right}`) || text.includes(`${right} ${left}`),
  };
}
