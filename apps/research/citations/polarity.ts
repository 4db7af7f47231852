import type { Token } from './tokens.ts';

const NEGATORS = new Set(
  'not no never neither nor none nobody nothing cannot without hardly scarcely barely lack lacks lacked lacking fail fails failed failing deny denies denied unable refuse refuses refused refusing false untrue myth'.split(
    ' ',
  ),
);
const HEDGES = new Set(
  'may might could possibly perhaps allegedly reportedly supposedly potentially hypothetically suggest suggests suggested hope hopes hoped hoping propose proposes proposed proposal plan plans planned speculate speculated rumoured rumored unclear disputed unconfirmed'.split(
    ' ',
  ),
);
const UNIVERSALS = new Set(
  'all every always only entirely completely everyone everywhere exclusively solely invariably guarantees guaranteed any'.split(
    ' ',
  ),
);
const PARTIALS = new Set(
  'some many most several few sometimes often usually partly partially mainly mostly largely typically generally majority half part certain'.split(
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

/** Says as a fact what the other only says may be. */
export function dropsHedge(claim: readonly Token[], passage: readonly Token[]): boolean {
  return has(verbless(passage), HEDGES) && !has(claim, HEDGES);
}

/** A month is no hedge. */
function verbless(tokens: readonly Token[]): Token[] {
  return tokens.filter((token) => !(token.lower === 'may' && token.capital && !token.first));
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
