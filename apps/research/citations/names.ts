import { stem } from '../text/words.ts';
import { isUnit } from './quantities.ts';
import type { Statement } from './statement.ts';
import type { Token } from './tokens.ts';

/** Words for a name of the claim that neither the passage nor the title of its document has. */
export function nameProblem(
  claim: Statement,
  closest: Statement,
  passage: readonly Statement[],
  { title, text }: { title: string; text: string },
): string | undefined {
  const someone = otherSubject(claim, closest, passage);
  if (someone !== undefined) return `the passage says it of "${someone}"`;
  const tokens = passage.flatMap((statement) => statement.tokens);
  const known = new Set([...tokens.map(({ stem }) => stem), ...title.toLowerCase().split(/[^\p{L}\p{N}]+/u)]);
  const initials = initialsOf(passage);
  const near = new Set([
    ...closest.tokens.map(({ stem }) => stem),
    ...title.toLowerCase().split(/[^\p{L}\p{N}]+/u),
  ]);
  for (const name of claim.names) {
    const isAway = name.some((token) => !isKnown(token, near, initials));
    // The subject of a claim may stand in the sentence before; other names, and parts of a name, may not.
    const isSubject = name === claim.names[0] && !name.some((token) => near.has(token.stem));
    const isShortened = near.has(name.at(-1)?.stem ?? '') && name.every((token) => known.has(token.stem));
    if (isFullName(name, near, text)) continue;
    const isMeant =
      name.every((token) => known.has(token.stem)) && pointsBack(closest) && !isAgent(claim, name);
    if (isAway && !isSubject && !isShortened && !isMeant && !spellsOut(name, tokens))
      return `the passage does not name "${name.map(({ text }) => text).join(' ')}" here`;
    const missing = name.find((token) => !isKnown(token, known, initials));
    if (missing !== undefined && !spellsOut(name, tokens))
      return `the passage does not name "${name.map(({ text }) => text).join(' ')}"`;
  }
  return undefined;
}

/** The passage has the last part of a name that the text has in full. */
function isFullName(name: readonly Token[], near: ReadonlySet<string>, text: string): boolean {
  return near.has(name.at(-1)?.stem ?? '') && text.includes(name.map((token) => token.text).join(' '));
}

function isAgent({ tokens }: Statement, [first]: readonly Token[]): boolean {
  const at = first === undefined ? -1 : tokens.indexOf(first);
  return tokens.slice(Math.max(0, at - 2), Math.max(0, at)).some(({ lower }) => lower === 'by');
}

/** The sentence speaks of something named before: "it", "the firm". */
function pointsBack({ tokens }: Statement): boolean {
  return tokens.some(
    ({ lower }, at) =>
      /^(?:it|him|her|them)$/.test(lower) ||
      (lower === 'the' &&
        /^(?:firm|company|lake|group|team|agency|project|city|country|fund|ship|island|band|club|party|site|drug|bank)$/.test(
          tokens[at + 1]?.lower ?? '',
        )),
  );
}

const SUBJECT_REACH = 6;

/** The sentence, or the part of it that the claim repeats, is about a name that the claim does not have. */
function otherSubject(
  claim: Statement,
  closest: Statement,
  passage: readonly Statement[],
): string | undefined {
  const own = openingName(claim) ?? openingWord(claim, passage);
  if (own === undefined) return undefined;
  const part = partOf(claim, own, closest);
  const other =
    part === undefined ? openingName(closest) : (namesIn(closest, part)[0] ?? openerOf(part, own, closest));
  if (other === undefined) return undefined;
  const place = part ?? closest.tokens;
  if (shares(place, own) || shares(claim.tokens, other)) return undefined;
  return other.map(({ text }) => text).join(' ');
}

function shares(tokens: readonly Token[], name: readonly Token[]): boolean {
  return name.some((token) => tokens.some(({ stem }) => stem === token.stem));
}

function openingName({ names, tokens }: Statement): readonly Token[] | undefined {
  return names.find(([first]) => first !== undefined && tokens.indexOf(first) < SUBJECT_REACH);
}

/** The first word of the claim, where a sentence of the passage has it too: it may be a name. */
function openingWord({ tokens }: Statement, passage: readonly Statement[]): readonly Token[] | undefined {
  const first = tokens.find(({ kind }) => kind === 'word');
  if (first === undefined || !first.content) return undefined;
  const capital = passage.some((statement) =>
    statement.tokens.some(({ lower, capital: is }) => is && lower === first.lower),
  );
  return capital ? [first] : undefined;
}

const PARTS = new Set(['but', 'while', 'whereas', 'although', ';']);

/** Of a sentence in two opposed parts, the one that has what the claim says of its subject. */
function partOf(
  claim: Statement,
  subject: readonly Token[],
  closest: Statement,
): readonly Token[] | undefined {
  const at = closest.tokens.findIndex(
    ({ lower }, place) => PARTS.has(lower) || (lower === ',' && closest.tokens[place + 1]?.lower === 'and'),
  );
  if (at === -1) return undefined;
  const said = claim.tokens
    .filter((token) => token.content && !subject.includes(token))
    .map(({ stem }) => stem);
  const parts = [closest.tokens.slice(0, at), closest.tokens.slice(at)];
  const figures = claim.tokens.filter(({ kind }) => kind === 'number').map(({ stem }) => stem);
  const hits = parts.map((part) => {
    const stems = new Set(part.map(({ stem }) => stem));
    return (
      said.filter((stem) => stems.has(stem)).length + 2 * figures.filter((stem) => stems.has(stem)).length
    );
  });
  const [first = 0, second = 0] = hits;
  if (first === second) return undefined;
  return first > second ? parts[0] : parts[1];
}

/** The first word of the part, where the claim's subject stands in the other part. */
function openerOf(
  part: readonly Token[],
  own: readonly Token[],
  closest: Statement,
): readonly Token[] | undefined {
  const opener = part.find(({ kind }) => kind === 'word');
  return opener?.first && opener.content && shares(closest.tokens, own) && !shares(part, own)
    ? [opener]
    : undefined;
}

function namesIn({ names }: Statement, part: readonly Token[]): readonly Token[][] {
  return names.filter(([first]) => first !== undefined && part.includes(first));
}

function isKnown(token: Token, known: ReadonlySet<string>, initials: ReadonlySet<string>): boolean {
  if (known.has(token.stem) || known.has(token.lower) || initials.has(token.text.toUpperCase())) return true;
  if (PEOPLES.some((pair) => pair.includes(token.lower) && pair.some((name) => known.has(stem(name)))))
    return true;
  // A country and its people: "Korea" and "Korean".
  const root = token.lower.slice(0, Math.max(4, token.lower.length - 2));
  return token.lower.length > 4 && [...known].some((word) => word.startsWith(root));
}

/** Countries whose people are called by another word. */
const PEOPLES =
  'swiss switzerland|dutch netherlands|french france|danish denmark|danes denmark|spanish spain|greek greece|greeks greece|irish ireland|welsh wales|scottish scotland|scots scotland|polish poland|turkish turkey|finnish finland|swedish sweden|norwegian norway|chinese china|portuguese portugal|belgian belgium|english england|american states|british kingdom|czech czechia|thai thailand|swedes sweden|britons britain|british britain|philippine filipino'
    .split('|')
    .map((pair) => pair.split(' '));

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
  const opening = openingWord(claim, [passage]) ?? [];
  const names = [...new Set([...opening, ...claim.names.map((name) => name.at(-1))])].filter(
    (token) => token !== undefined,
  );
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

/** Words for whoever the claim says did it, or had it done to them, where the passage names another. */
export function otherParty(claim: Statement, closest: Statement): string | undefined {
  for (const word of ['by', 'to', 'from']) {
    const [own, theirs] = [partyOf(claim, word), partyOf(closest, word)];
    if (own.length === 0 || theirs.length === 0) continue;
    if (!own.some((token) => theirs.some(({ stem }) => stem === token.stem)))
      return `${word} ${own.map(({ text }) => text).join(' ')}`;
  }
  return undefined;
}

/** The words behind the preposition: whoever is named, and behind "by" also whoever is described. */
function partyOf({ tokens }: Statement, preposition: string): readonly Token[] {
  return tokens.flatMap((token, at) =>
    token.lower === preposition ? partyBehind(tokens, at, preposition) : [],
  );
}

function partyBehind(tokens: readonly Token[], at: number, preposition: string): readonly Token[] {
  const words = tokens.slice(at + 1, at + 6);
  const first = words.find(({ content, kind }) => content || kind === 'number');
  if (first === undefined || first.kind === 'number' || first.lower.endsWith('ing') || isUnit(first.lower))
    return [];
  if (preposition !== 'by' && !first.capital) return [];
  return words.filter(({ content }) => content);
}
