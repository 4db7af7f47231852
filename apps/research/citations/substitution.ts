import type { Statement } from './statement.ts';
import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

/**
 * A word that was put in the place of another: the sentences agree on both sides of it, and nothing else there differs.
 * It is the mark of a claim that copies a passage and changes what it says.
 */
export function substitution(
  claim: Statement,
  passage: Statement,
  around: { title: string; statements: readonly Statement[] },
): string | undefined {
  const own = contentOf(claim);
  const theirs = contentOf(passage);
  const pairs = [[-1, -1] as const, ...anchors(own, theirs), [own.length, theirs.length] as const];
  for (const [index, pair] of pairs.entries()) {
    const next = pairs[index + 1];
    if (next === undefined) continue;
    const gap = own.slice(pair[0] + 1, next[0]);
    const other = theirs.slice(pair[1] + 1, next[1]);
    const isEdge = index === 0 || index === pairs.length - 2;
    if (gap.length !== 1) continue;
    const mine = gap[0];
    const instead = other.filter((token) => token.kind === mine?.kind && !isIn(token, own, ''));
    if (mine?.kind !== 'word' || instead.length < 1 || instead.length > (isEdge ? 3 : MOST_INSTEAD)) continue;
    const isMoved = isIn(mine, theirs, around.title) || isNamed(mine, instead, around.statements);
    if (!isMoved && (index > 0 || opens(mine, claim))) return mine.text;
  }
  return undefined;
}

const MOST_INSTEAD = 1;

/** What the claim begins with, but for an article: a subject, which cannot be a verb behind "it". */
function opens(token: Token, { tokens }: Statement): boolean {
  return tokens.slice(0, tokens.indexOf(token)).every(({ lower }) => /^(?:the|a|an)$/.test(lower));
}

/** A name of the passage in place of "the company" or "the system". */
function isNamed(token: Token, other: readonly Token[], statements: readonly Statement[]): boolean {
  if (!token.capital || other.some(({ capital }) => capital)) return false;
  return statements.some(({ tokens }) =>
    tokens.some(({ lower, capital }) => capital && lower === token.lower),
  );
}

function contentOf({ tokens, quantities }: Statement): Token[] {
  const measured = (at: number) => quantities.some((quantity) => at >= quantity.at && at < quantity.end);
  return tokens.filter(({ content, kind }, at) => kind === 'number' || (content && !measured(at)));
}

/** Places where the sentences have the same word, in the same order in both; the ends count as such places. */
function anchors(own: readonly Token[], theirs: readonly Token[]): [number, number][] {
  const lengths = own.map(() => theirs.map(() => 0));
  for (let left = own.length - 1; left >= 0; left -= 1) {
    for (let right = theirs.length - 1; right >= 0; right -= 1) {
      const below = lengths[left + 1]?.[right] ?? 0;
      const beside = lengths[left]?.[right + 1] ?? 0;
      const diagonal = (lengths[left + 1]?.[right + 1] ?? 0) + 1;
      const row = lengths[left];
      if (row !== undefined)
        row[right] = alike(own[left], theirs[right]) ? diagonal : Math.max(below, beside);
    }
  }
  return walk(own, theirs, lengths);
}

function walk(
  own: readonly Token[],
  theirs: readonly Token[],
  lengths: readonly number[][],
): [number, number][] {
  const pairs: [number, number][] = [];
  let [left, right] = [0, 0];
  while (left < own.length && right < theirs.length) {
    if (alike(own[left], theirs[right])) pairs.push([left++, right++]);
    else if ((lengths[left + 1]?.[right] ?? 0) >= (lengths[left]?.[right + 1] ?? 0)) left += 1;
    else right += 1;
  }
  return pairs;
}

function alike(left: Token | undefined, right: Token | undefined): boolean {
  return left !== undefined && right !== undefined && areSynonyms(left.stem, right.stem);
}

/** What stands elsewhere in the sentence, or in the title, was only moved. */
function isIn({ stem, lower }: Token, tokens: readonly Token[], title: string): boolean {
  return tokens.some((token) => areSynonyms(token.stem, stem)) || title.toLowerCase().includes(lower);
}
