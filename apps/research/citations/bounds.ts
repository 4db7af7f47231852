import { sameQuantity } from './quantities.ts';
import type { Statement } from './statement.ts';
import type { Token } from './tokens.ts';

/** Words for a figure that both texts have and that stands there in another sense: as a limit, a base, or an end of a range. */
export function boundProblem(claim: Statement, passage: readonly Statement[]): string | undefined {
  for (const quantity of claim.quantities) {
    const uses = passage.flatMap((statement) =>
      statement.quantities
        .filter((other) => sameQuantity(quantity, other))
        .map((other) => ({ statement, at: other.at, end: other.end })),
    );
    if (uses.length === 0) continue;
    const text = claim.tokens
      .slice(quantity.at, quantity.end)
      .map((token) => token.text)
      .join(' ');
    const all = (differs: (use: (typeof uses)[number]) => boolean) => uses.every(differs);
    const own = { statement: claim, at: quantity.at, end: quantity.end };
    if (all((use) => limitOf(own) * limitOf(use) < 0))
      return `the passage has "${text}" as the contrary limit`;
    if (all((use) => rateOf(own) !== '' && rateOf(use) !== '' && rateOf(own) !== rateOf(use)))
      return `the passage has "${text}" for another length of time`;
    if (!isBase(own) && all(isBase))
      return `the passage has "${text}" for the whole of which it gives a part`;
    if (all((use) => endOf(own) !== '' && endOf(use) !== '' && endOf(own) !== endOf(use)))
      return `the passage has "${text}" at the other end`;
  }
  return undefined;
}

interface Use {
  statement: Statement;
  at: number;
  end: number;
}

/** 1 for "at least", -1 for "at most", 0 for neither. */
function limitOf({ statement: { tokens }, at, end }: Use): number {
  const before = wordsOf(tokens.slice(Math.max(0, at - 3), at));
  const after = wordsOf(tokens.slice(end, end + 3));
  const isDenied = /\b(?:not|no|never) \w* ?(?:more|less|fewer|over|exceeded)\b|never exceeded/.test(
    wordsOf(tokens.slice(Math.max(0, at - 4), at)),
  );
  const sign = isDenied ? -1 : 1;
  if (/\b(?:more than|over|above|at least|minimum of|exceed\w*)(?: \S)?$/.test(before)) return sign;
  if (/\b(?:less than|fewer than|under|below|at most|up to|maximum of)(?: \S)?$/.test(before)) return -sign;
  if (/^or (?:more|over|older)|^at least/.test(after)) return 1;
  return /^or (?:less|fewer|under|younger)|^at most/.test(after) ? -1 : 0;
}

const RATES = new Map([
  ['daily', 'day'],
  ['weekly', 'week'],
  ['monthly', 'month'],
  ['yearly', 'year'],
  ['annually', 'year'],
  ['hourly', 'hour'],
]);

/** The length of time that a figure is for: "a day", "per year", "monthly". */
function rateOf({ statement: { tokens }, end }: Use): string {
  const near = tokens.slice(end, end + 4);
  const at = near.findIndex(({ lower }) => /^(?:second|minute|hour|day|week|month|year)$/.test(lower));
  const named = near.map(({ lower }) => RATES.get(lower)).find((rate) => rate !== undefined);
  return at > 0 && /^(?:a|an|per|each|every)$/.test(near[at - 1]?.lower ?? '')
    ? (near[at]?.lower ?? '')
    : (named ?? '');
}

/** The 29 of "28 of 29", the 459 of "of 459 people 193 died". */
function isBase({ statement: { tokens, quantities }, at }: Use): boolean {
  const of = tokens.slice(Math.max(0, at - 3), at).findLastIndex(({ lower }) => lower === 'of');
  if (of === -1) return false;
  const place = Math.max(0, at - 3) + of;
  const isFirst = place === 0 && quantities.some((other) => other.at > at);
  return isFirst || quantities.some((other) => other.end >= place - 1 && other.end <= place && other.at < at);
}

/** Which end of a range the figure is. */
function endOf({ statement: { tokens }, at, end }: Use): string {
  const place = tokens[at - 1]?.kind === 'mark' ? at - 2 : at - 1;
  const before = tokens[place]?.lower ?? '';
  if (before === 'from' || before === 'to') return before;
  const to = tokens.slice(end, end + 2).findIndex(({ lower }) => lower === 'to');
  return to !== -1 && tokens[end + to + 1]?.kind === 'number' ? 'from' : '';
}

function wordsOf(tokens: readonly Token[]): string {
  return tokens.map(({ lower }) => lower).join(' ');
}
