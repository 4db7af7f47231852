import { type DateMention, datesOf } from './dates.ts';
import { withoutPhrases } from './phrases.ts';
import { isUnit, type Quantity, quantitiesOf } from './quantities.ts';
import { type Token, tokensOf } from './tokens.ts';

/** A sentence taken apart into what can be compared. */
export interface Statement {
  text: string;
  tokens: readonly Token[];
  /** Stems that carry meaning, each once, in order. */
  stems: readonly string[];
  quantities: readonly Quantity[];
  dates: readonly DateMention[];
  /** Proper names, as the tokens they are made of. */
  names: readonly Token[][];
}

export function statementOf(text: string): Statement {
  const tokens = tokensOf(withoutPhrases(text)).map((token, at, all) =>
    isHabit(all, at) ? { ...token, content: false } : token,
  );
  const { dates, used } = datesOf(tokens);
  const quantities = quantitiesOf(tokens, used);
  const counted = (at: number) => quantities.some((quantity) => at >= quantity.at && at < quantity.end);
  const content = tokens.filter(
    (token, at) => token.content && !used.has(at) && !counted(at) && !MAGNITUDES.has(token.lower),
  );
  return {
    text,
    tokens,
    stems: [...new Set(content.map((token) => token.stem))],
    quantities,
    dates,
    names: namesOf(tokens, used),
  };
}

/** The "used" of "used to be". */
function isHabit(tokens: readonly Token[], at: number): boolean {
  return tokens[at]?.lower === 'used' && tokens[at + 1]?.lower === 'to';
}

const MAGNITUDES = new Set([
  'hundred',
  'thousand',
  'million',
  'billion',
  'trillion',
  'percent',
  'approximately',
  'roughly',
  'nearly',
  'almost',
]);

/** Words that begin a sentence with a capital and are no names. */
const NO_NAME = new Set([
  'however',
  'meanwhile',
  'moreover',
  'today',
  'according',
  'researchers',
  'scientists',
  'critics',
  'early',
  'late',
  'recent',
  'many',
  'several',
]);

function namesOf(tokens: readonly Token[], dated: ReadonlySet<number>): Token[][] {
  const names: Token[][] = [];
  let current: Token[] = [];
  for (const [at, token] of tokens.entries()) {
    const belongs =
      token.kind === 'word' &&
      token.capital &&
      token.content &&
      !dated.has(at) &&
      !NO_NAME.has(token.lower) &&
      !isUnit(token.lower);
    if (belongs) current.push(token);
    else if (current.length > 0) {
      names.push(current);
      current = [];
    }
  }
  if (current.length > 0) names.push(current);
  return names.filter((name) => !(name.length === 1 && name[0]?.first === true && !isPlainName(name[0])));
}

/** A single capitalised word at the start of a sentence is a name only when its form says so: "NASA", "McKay". */
function isPlainName(token: Token): boolean {
  return /^\p{Lu}{2,}$|^\p{Lu}.*\p{Lu}/u.test(token.text);
}
