import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

const NEGATORS = new Set(
  'not no never neither nor none nobody nothing cannot without hardly scarcely barely lack lacks lacked fail fails failed failing deny denies denied unable refuse refuses refused refusing false untrue myth'.split(
    ' ',
  ),
);
const HEDGES = new Set(
  'may might could possibly perhaps allegedly reportedly supposedly potentially hypothetically suggest suggests suggested hope hopes hoped hoping propose proposes proposed proposal plan plans planned speculate speculated rumoured rumored unclear dispute disputes disputed doubt doubts doubted question questioned unconfirmed allege alleged claim claims claimed'.split(
    ' ',
  ),
);
const UNIVERSALS = new Set(
  'all every both always only entirely completely everyone everywhere exclusively solely invariably guarantees guaranteed'.split(
    ' ',
  ),
);
const PARTIALS = new Set(
  'some one many most several few sometimes often usually partly partially mainly mostly largely typically generally majority half part certain'.split(
    ' ',
  ),
);

function has(tokens: readonly Token[], words: ReadonlySet<string>): boolean {
  return tokens.some((token) => words.has(token.lower));
}

/** Whether the words deny what they say; two negations cancel out. */
export function isNegated(tokens: readonly Token[]): boolean {
  return tokens.filter((token) => NEGATORS.has(token.lower) || token.lower.endsWith("n't")).length % 2 === 1;
}

/** Says as a fact what the other only says may be: the word that the doubt is about stands in the claim too. */
export function dropsHedge(claim: readonly Token[], passage: readonly Token[]): boolean {
  if (has(claim, HEDGES)) return false;
  return passage.some((token, at) => {
    if (!HEDGES.has(token.lower) || (token.capital && !token.first)) return false;
    const doubted = passage.slice(at + 1).find(({ content }) => content);
    return doubted !== undefined && claim.some(({ stem }) => areSynonyms(stem, doubted.stem));
  });
}

/** Says of all what the other says of some. */
export function overstates(claim: readonly Token[], passage: readonly Token[]): boolean {
  return (
    has(claim, UNIVERSALS) && !has(passage, UNIVERSALS) && (has(passage, PARTIALS) || has(claim, STRONG))
  );
}

const STRONG = new Set(
  'all every always only exclusively solely everyone everywhere guarantees guaranteed'.split(' '),
);

const ALMOST = new Set(['nearly', 'almost', 'virtually', 'practically']);

/** Says outright what the other says of almost. */
export function dropsAlmost(claim: readonly Token[], passage: readonly Token[]): boolean {
  if (has(claim, ALMOST)) return false;
  const own = new Set(claim.map(({ stem }) => stem));
  return passage.some((token, at) => {
    const next = passage[at + 1];
    return ALMOST.has(token.lower) && next?.kind === 'word' && next.content && own.has(next.stem);
  });
}

/** Finds a difference where the other finds none: "less than" against "as much as". */
export function comparesOtherwise(claim: readonly Token[], passage: readonly Token[]): boolean {
  const hasThan = (tokens: readonly Token[]) => tokens.some(({ lower }) => lower === 'than');
  const equates = passage.some(
    ({ lower }, at) => lower === 'as' && passage.slice(at + 2, at + 4).some((token) => token.lower === 'as'),
  );
  return hasThan(claim) && !hasThan(passage) && equates;
}

const REFUTED = new Set('rejected refuted disproved debunked unfounded discredited'.split(' '));

/** Repeats as true what the other only quotes: "the idea that ... is rejected". */
export function repeatsRefuted(claim: readonly Token[], passage: readonly Token[]): boolean {
  const quotes = passage.some(({ lower }) => lower === 'that');
  const refutes = (tokens: readonly Token[]) =>
    tokens.some(({ stem: word, lower }) => REFUTED.has(lower) || word === 'reject');
  return quotes && refutes(passage) && !refutes(claim) && !isNegated(claim);
}
