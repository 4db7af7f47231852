import type { Statement } from './statement.ts';
import type { Token } from './tokens.ts';

/** Words for a name of the claim that neither the passage nor the title of its document has. */
export function nameProblem(
  claim: Statement,
  closest: Statement,
  passage: readonly Statement[],
  title: string,
): string | undefined {
  const someone = otherSubject(claim, closest);
  if (someone !== undefined) return `the passage says it of "${someone}"`;
  const tokens = passage.flatMap((statement) => statement.tokens);
  const known = new Set([...tokens.map(({ stem }) => stem), ...title.toLowerCase().split(/[^\p{L}\p{N}]+/u)]);
  const initials = initialsOf(passage);
  for (const name of claim.names) {
    const missing = name.find((token) => !isKnown(token, known, initials));
    if (missing !== undefined && !spellsOut(name, tokens))
      return `the passage does not name "${name.map(({ text }) => text).join(' ')}"`;
  }
  return undefined;
}

const SUBJECT_REACH = 6;

/** The sentence opens with a name that the claim does not have, and lacks the name that opens the claim. */
function otherSubject(claim: Statement, closest: Statement): string | undefined {
  const [own, other] = [openingName(claim), openingName(closest)];
  if (own === undefined || other === undefined) return undefined;
  const shares = (statement: Statement, name: readonly Token[]) =>
    name.some((token) => statement.tokens.some(({ stem }) => stem === token.stem));
  if (shares(closest, own) || shares(claim, other)) return undefined;
  return other.map(({ text }) => text).join(' ');
}

function openingName({ names, tokens }: Statement): readonly Token[] | undefined {
  return names.find(([first]) => first !== undefined && tokens.indexOf(first) < SUBJECT_REACH);
}

function isKnown(token: Token, known: ReadonlySet<string>, initials: ReadonlySet<string>): boolean {
  return known.has(token.stem) || known.has(token.lower) || initials.has(token.text.toUpperCase());
}

/** The short forms of the passage's names: "World Health Organization" gives WHO. */
function initialsOf(passage: readonly Statement[]): Set<string> {
  const runs = passage.flatMap(({ names }) => names).filter((name) => name.length > 1);
  return new Set(
    runs.map((name) =>
      name
        .map(({ text }) => text[0] ?? '')
        .join('')
        .toUpperCase(),
    ),
  );
}

/** The claim spells out what the passage shortens. */
function spellsOut(name: readonly Token[], tokens: readonly Token[]): boolean {
  const short = name.map(({ text }) => text[0] ?? '').join('');
  return short.length > 1 && tokens.some(({ text }) => text === short);
}

/** "A bought B" against "B bought A": the names stand on opposite sides of the same word. */
export function rolesSwapped(claim: Statement, passage: Statement): boolean {
  const names = claim.names.map((name) => name.at(-1)).filter((token) => token !== undefined);
  if (names.length < 2) return false;
  const order = names.map((token) => passage.tokens.findIndex(({ stem }) => stem === token.stem));
  const claimed = names.map((token) => claim.tokens.indexOf(token));
  for (let left = 0; left < names.length; left += 1) {
    for (let right = left + 1; right < names.length; right += 1) {
      const [first = -1, second = -1] = [order[left], order[right]];
      if (first === -1 || second === -1 || first < second) continue;
      if (relationHolds(claim, [claimed[left] ?? 0, claimed[right] ?? 0], passage, [second, first]))
        return true;
    }
  }
  return false;
}

/** A directed word between the two in both sentences, in the same voice. */
function relationHolds(
  claim: Statement,
  [from, to]: [number, number],
  passage: Statement,
  [start, end]: [number, number],
): boolean {
  const between = claim.tokens.slice(from + 1, to);
  const other = passage.tokens.slice(start + 1, end);
  const shared = between.some(
    (token) =>
      (token.content || token.lower === 'than') &&
      !token.capital &&
      other.some(({ stem }) => stem === token.stem),
  );
  return shared && isPassive(between) === isPassive(other) && other.every(({ lower }) => lower !== 'and');
}

function isPassive(tokens: readonly Token[]): boolean {
  return tokens.some(({ lower }) => lower === 'by');
}
