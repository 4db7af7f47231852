import { type DateMention, sameDate } from './dates.ts';
import { isUnit, type Quantity, sameQuantity } from './quantities.ts';
import type { Statement } from './statement.ts';
import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

/** A figure of a statement, its place, and how it compares with figures elsewhere. */
interface Figure {
  at: number;
  same(other: Figure): boolean;
  value: unknown;
  kind: 'quantity' | 'date';
}

function figuresOf({ quantities, dates }: Statement): Figure[] {
  return [
    ...quantities.map((quantity) => ({
      at: quantity.at,
      kind: 'quantity' as const,
      value: quantity,
      same: (other: Figure) =>
        other.kind === 'quantity'
          ? sameQuantity(quantity, other.value as Quantity)
          : isSameYear(quantity, other.value as DateMention),
    })),
    ...dates.map((date) => ({
      at: date.at,
      kind: 'date' as const,
      value: date,
      same: (other: Figure) =>
        other.kind === 'date'
          ? sameDate(date, other.value as DateMention)
          : isSameYear(other.value as Quantity, date),
    })),
  ];
}

/** A bare number may be meant as a year: "the 2017 review". */
function isSameYear({ unit, value }: Quantity, { year, month }: DateMention): boolean {
  return unit === '' && month === undefined && value === year;
}

/** How many figures the claim has, and how many of them the passage has too. */
export function figureHits(
  claim: Statement,
  passage: readonly Statement[],
): { found: number; total: number } {
  const figures = figuresOf(claim);
  const others = passage.flatMap(figuresOf);
  return {
    found: figures.filter((figure) => others.some((other) => figure.same(other))).length,
    total: figures.length,
  };
}

/** Words for a figure of the claim that the passage does not have, or has for something else. */
export function figureProblem(claim: Statement, passage: readonly Statement[]): string | undefined {
  for (const figure of figuresOf(claim)) {
    const places = passage.flatMap((statement) =>
      figuresOf(statement).map((other) => ({ statement, other })),
    );
    const own = places.filter(({ other }) => figure.same(other));
    if (own.length === 0) return `the passage does not have the figure "${wordsAt(claim, figure.at)}"`;
    const others = places.filter(({ other }) => other.kind === figure.kind && !figure.same(other));
    const closeness = (place: { statement: Statement; other: Figure }) =>
      nearness(claim, figure.at, place.statement, place.other.at);
    const best = Math.max(...own.map(closeness));
    const rival = Math.max(
      0,
      ...others.filter(({ other }) => !isClaimed(other, figure, claim)).map(closeness),
    );
    if (rival > best * 1.25 + 0.15)
      return `the passage gives "${wordsAt(claim, figure.at)}" for something else`;
  }
  return exchangeProblem(claim, passage);
}

/** Two figures of the claim that the passage gives for each other's things. */
function exchangeProblem(claim: Statement, passage: readonly Statement[]): string | undefined {
  const figures = figuresOf(claim);
  const places = passage.flatMap((statement) => figuresOf(statement).map((other) => ({ statement, other })));
  for (const [index, first] of figures.entries()) {
    for (const second of figures.slice(index + 1).filter(({ kind }) => kind === first.kind)) {
      const closeness = (figure: Figure, wanted: Figure) =>
        Math.max(
          0,
          ...places
            .filter(({ other }) => wanted.same(other))
            .map(({ statement, other }) => nearness(claim, figure.at, statement, other.at)),
        );
      const asClaimed = closeness(first, first) + closeness(second, second);
      const exchanged = closeness(first, second) + closeness(second, first);
      if (exchanged > asClaimed * 1.2 + 0.3)
        return `the passage has "${wordsAt(claim, first.at)}" and "${wordsAt(claim, second.at)}" the other way round`;
    }
  }
  return undefined;
}

/** The claim takes its figure from one part of the sentence and what it says from a later part with a figure of its own. */
export function mixesParts(claim: Statement, closest: Statement): boolean {
  const figures = figuresOf(claim);
  return figures.some((figure) => {
    if (figures.filter(({ kind }) => kind === figure.kind).length > 1) return false;
    const others = figuresOf(closest).filter(({ kind }) => kind === figure.kind);
    const own = others.find((other) => figure.same(other));
    const later = others.find((other) => own !== undefined && other.at > own.at && !figure.same(other));
    return own !== undefined && later !== undefined && isTakenFrom(claim, closest, own.at, later.at);
  });
}

/** Some word of the claim stands only in the later part, and the earlier one says something that the claim does not. */
function isTakenFrom(claim: Statement, { tokens }: Statement, own: number, later: number): boolean {
  const cut = tokens.findIndex(
    ({ lower }, at) => at > own && at < later && /^(?:and|but|while|;)$/.test(lower),
  );
  if (cut === -1) return false;
  const start = tokens.slice(0, own).findLastIndex(({ lower }) => /^(?:and|but|while|;|,)$/.test(lower)) + 1;
  const [earlier, rest] = [tokens.slice(start, cut), tokens.slice(cut)];
  const has = (part: readonly Token[], stem: string) =>
    part.some((token) => token.content && areSynonyms(token.stem, stem));
  const borrowed = claim.stems.some((stem) => has(rest, stem) && !has(tokens.slice(0, cut), stem));
  return (
    borrowed &&
    earlier.some(
      (token) =>
        token.content &&
        !token.capital &&
        !isUnit(token.lower) &&
        !claim.stems.some((stem) => areSynonyms(stem, token.stem)),
    )
  );
}

/** A figure that the claim has too is no rival: the claim speaks of both. */
function isClaimed(other: Figure, figure: Figure, claim: Statement): boolean {
  return figuresOf(claim).some((own) => own.at !== figure.at && own.same(other));
}

function wordsAt({ tokens }: Statement, at: number): string {
  return tokens
    .slice(at, at + 2)
    .map(({ text }) => text)
    .join(' ');
}

const REACH = 14;
/** How much further away another part of the sentence counts. */
const APART = 5;

/** How much of what surrounds the claim's figure also surrounds the passage's, nearer words counting more. */
function nearness(claim: Statement, claimAt: number, passage: Statement, passageAt: number): number {
  const around = neighbours(passage.tokens, passageAt);
  let sum = 0;
  for (const { token, distance } of neighbours(claim.tokens, claimAt)) {
    const near = around.filter((other) => areSynonyms(token.stem, other.token.stem));
    const closest = Math.min(...near.map((other) => other.distance));
    const worth = token.kind === 'number' ? 2 : token.capital ? 1.5 : 1;
    if (near.length > 0) sum += worth / (1 + 0.3 * (closest - 1)) / (1 + 0.1 * (distance - 1));
  }
  return sum;
}

function neighbours(tokens: readonly Token[], at: number): { token: Token; distance: number }[] {
  const found: { token: Token; distance: number }[] = [];
  for (const direction of [-1, 1]) {
    let distance = 0;
    for (let place = at + direction; distance < REACH; place += direction) {
      const token = tokens[place];
      if (token === undefined) break;
      if (parts(token, tokens[place + 1]) || endsRange(tokens, place)) distance += APART;
      if ((!token.content && token.kind !== 'number') || isUnit(token.lower)) continue;
      distance += 1;
      found.push({ token, distance });
    }
  }
  return found;
}

/** Whether another part of the sentence begins here; "and" before a name only goes on with a list. */
function parts({ lower }: Token, next: Token | undefined): boolean {
  if (lower === 'and') return next?.capital !== true;
  return lower === ',' || lower === ';' || lower === 'while' || lower === 'but';
}

/** The "to" of "from A in one year to B in another". */
function endsRange(tokens: readonly Token[], place: number): boolean {
  if (tokens[place]?.lower !== 'to') return false;
  return tokens.slice(Math.max(0, place - 8), place).some(({ lower }) => lower === 'from');
}
