import type { Span } from '../text/sentences.ts';
import { absentFrom } from './absence.ts';
import { type CloseReading, type NameKnowledge, readClosely } from './close-reading.ts';
import type { CheckedDocument } from './document.ts';
import type { Statement } from './statement.ts';
import type { Verdict } from './verdict.ts';
import { promising } from './windows.ts';

const CLOSE_WORDS: Record<Exclude<CloseReading, 'same'>, string> = {
  denied: 'the passage says the opposite',
  opposite: 'the passage says the opposite',
  figure: 'the passage has another figure',
  hedged: 'the passage says only that it may be so',
  name: 'the passage says it of another',
  share: 'the passage says it of some only',
};

/** What is beyond doubt: the claim has the words of a sentence, or a figure that the page lacks, or nothing of the page. */
export function plainVerdict(
  claim: Statement,
  document: CheckedDocument,
  weighed: Verdict,
): Verdict | undefined {
  const read = closeReadings(claim, document);
  const same = read.find(({ reading }) => reading === 'same');
  const other = read.find(({ reading }) => reading !== 'same');
  if (same !== undefined && other === undefined) return certainly(true, '', same.span, 1);
  if (other !== undefined && same === undefined && other.reading !== 'same')
    return certainly(false, CLOSE_WORDS[other.reading], other.span, weighed.score);
  const absent = absentFrom(claim, document.inventory);
  if (absent !== undefined && same === undefined)
    return certainly(false, absent, weighed.passage, weighed.score);
  return undefined;
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

export function certainly(
  supported: boolean,
  reason: string,
  passage: Span | undefined,
  score: number,
): Verdict {
  return { supported, certain: true, judge: 'rules', score, reason, passage };
}
