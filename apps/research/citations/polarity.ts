import { type Frame, framesOf } from './frames.ts';
import { isNumberWord } from './quantities.ts';
import type { Pairing } from './roles.ts';
import type { Statement } from './statement.ts';
import { areOpposites, areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

const NEGATORS = new Set(
  'not no never neither nor none nobody absence nothing cannot hardly scarcely barely lack lacks lacked fail fails failed failing deny denies denied unable refuse refuses refused refusing false untrue myth'.split(
    ' ',
  ),
);
const HEDGES = new Set(
  'may might could possibly perhaps allegedly reportedly supposedly potentially hypothetically suggest suggests suggested hope hopes hoped hoping propose proposes proposed proposal plan plans planned speculate speculated rumoured rumored unclear dispute disputes disputed doubt doubts doubted question questioned unconfirmed allege alleged claim claims claimed expect expects expected due forecasts'.split(
    ' ',
  ),
);
const UNIVERSALS = new Set(
  'all every each both always only entirely completely everyone everywhere exclusively solely invariably guarantees guaranteed'.split(
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
  const negators = tokens.filter(
    ({ lower }, at) =>
      (NEGATORS.has(lower) || lower.endsWith("n't") || isPrevented(tokens, at)) &&
      !isLimit(tokens, at) &&
      !goesOn(tokens, at),
  );
  return negators.length % 2 === 1;
}

/** "Free of pain", "kept them from returning". */
function isPrevented(tokens: readonly Token[], at: number): boolean {
  const [word, next] = [tokens[at]?.lower, tokens[at + 1]?.lower ?? ''];
  if (word === 'against') return /^(?:advi|recommend|warn|decid|vot)/.test(tokens[at - 1]?.stem ?? '');
  if (word === 'little') return tokens[at - 1]?.lower !== 'a' && tokens[at + 1]?.kind === 'word';
  if (word === 'free') return next === 'of' || next === 'from';
  return (
    word === 'from' &&
    next.endsWith('ing') &&
    tokens.slice(0, at).some(({ stem }) => /^(?:keep|prevent|stop|bar|discourag)/.test(stem))
  );
}

/** "No more than" and "not only" deny nothing. */
function isLimit(tokens: readonly Token[], at: number): boolean {
  const next = tokens[at + 1]?.lower ?? '';
  return (
    /^(?:more|less|fewer|later|earlier|longer|only)$/.test(next) &&
    /^(?:no|not)$/.test(tokens[at]?.lower ?? '')
  );
}

/** The "nor" of "neither ... nor". */
function goesOn(tokens: readonly Token[], at: number): boolean {
  return tokens[at]?.lower === 'nor' && tokens.slice(0, at).some(({ lower }) => lower === 'neither');
}

/** Every clause that compares with some clause of the claim says the contrary of it: by denial, or by a contrary word, but not by both. */
export function saysContrary(pairs: readonly Pairing[]): boolean {
  return pairs.some(({ claimed, found }) => {
    const alike = found.filter((frame) => sharesSubject(claimed, frame));
    return (alike.length > 0 ? alike : found).every((frame) => areContrary(claimed, frame));
  });
}

/** "Wales lost to Ireland" and "Ireland beat Wales": a contrary verb, and the parties on the other side of it. */
function isConverse(claimed: Frame, frame: Frame): boolean {
  const among = (words: readonly Token[], tokens: readonly Token[]) =>
    words.some(({ stem }) => tokens.some((token) => token.stem === stem));
  return (
    hasContrary(claimed.predicate, frame.predicate) &&
    among(claimed.subject, frame.predicate) &&
    among(frame.subject, claimed.predicate)
  );
}

/** The passage denies the contrary of what the claim says, or the other way round. */
export function deniesContrary(pairs: readonly Pairing[]): boolean {
  return pairs.some(({ claimed, found }) =>
    found.some(
      (frame) =>
        isConverse(claimed, frame) ||
        (isNegated(claimed.own) !== isNegated(frame.own) && hasContrary(claimed.own, frame.own)),
    ),
  );
}

function areContrary(claimed: Frame, frame: Frame): boolean {
  const denies = isNegated(claimed.own) !== isNegated(frame.own);
  if (isConverse(claimed, frame)) return denies;
  return denies !== (hasContrary(claimed.own, frame.own) || hasFlippedParticle(claimed.own, frame.own));
}

/** A name of the claim that the passage has only where it denies something. */
export function namesDenied(claim: Statement, passage: readonly Frame[]): boolean {
  if (isNegated(claim.tokens)) return false;
  return claim.names.flat().some(({ stem }) => {
    const places = passage.filter(({ own }) => own.some((token) => token.stem === stem));
    return places.length > 0 && places.every(({ own }) => isNegated(own) && own.length < SHORT);
  });
}

const SHORT = 8;

export function sharesSubject(claimed: Frame, frame: Frame): boolean {
  return claimed.subject.some(({ stem }) => frame.subject.some((token) => areSynonyms(token.stem, stem)));
}

/** A word of the one whose contrary the other has instead. */
function hasContrary(claimed: readonly Token[], frame: readonly Token[]): boolean {
  const words = claimed.filter(({ kind }) => kind === 'word');
  return words.some(
    ({ stem }, at) =>
      !isBound(words, at) &&
      !frame.some((token) => areSynonyms(token.stem, stem)) &&
      frame.some((token) => areOpposites(stem, token.stem) && !words.some((own) => own.stem === token.stem)),
  );
}

/** "At least" and "or more" belong to figures, which other rules compare. */
function isBound(words: readonly Token[], at: number): boolean {
  const [before, word] = [words[at - 1]?.lower ?? '', words[at]?.lower ?? ''];
  return /^(?:more|less|least|most|fewer|over|under)$/.test(word) && /^(?:at|or)$/.test(before);
}

const PARTICLES = new Map([
  ['for', 'against'],
  ['against', 'for'],
  ['on', 'off'],
  ['off', 'on'],
  ['up', 'down'],
  ['down', 'up'],
  ['with', 'without'],
  ['without', 'with'],
]);

/** "Found for" against "found against": the same word before it, the contrary particle behind. */
function hasFlippedParticle(claimed: readonly Token[], frame: readonly Token[]): boolean {
  return claimed.some((token, at) => {
    const contrary = PARTICLES.get(token.lower);
    const before = claimed[at - 1];
    if (contrary === undefined || before === undefined) return false;
    const follows = (word: string) =>
      frame.some((other, place) => other.lower === word && frame[place - 1]?.stem === before.stem);
    return follows(contrary) && !follows(token.lower);
  });
}

/** Says as a fact what the other only says may be: the word that the doubt is about stands in the claim too. */
export function dropsHedge(
  claim: readonly Token[],
  closest: readonly Token[],
  pairs: readonly Pairing[],
): boolean {
  if (has(claim, HEDGES) || has(claim, FUTURE)) return false;
  if (pairs.length === 0) return hedges(claim, closest);
  return pairs.some(
    ({ claimed, found }) =>
      found.every(({ own }) => hedges(claimed.own, own)) &&
      !isSaidOutright(claimed, framesOf({ tokens: closest })),
  );
}

/** Another clause has the claim's verb without any doubt. */
function isSaidOutright({ predicate }: Frame, frames: readonly Frame[]): boolean {
  const verb = predicate.find(({ content }) => content);
  if (verb === undefined) return false;
  return frames.some(
    ({ own, predicate: said }) =>
      !has(own, HEDGES) && said.find(({ content }) => content)?.stem === verb.stem,
  );
}

const FUTURE = new Set([
  'will',
  'would',
  'expects',
  'expected',
  'due',
  'forecast',
  'forecasts',
  'hopes',
  'wants',
  'aims',
  'believes',
  'should',
]);

function hedges(claim: readonly Token[], passage: readonly Token[]): boolean {
  return passage.some((token, at) => {
    if (!HEDGES.has(token.lower) || (token.capital && !token.first)) return false;
    const doubted = passage.slice(at + 1).find(({ content }) => content);
    if (doubted === undefined) return true;
    return claim.some(({ stem }) => areSynonyms(stem, doubted.stem));
  });
}

/** Says of all what the other says of some. */
export function overstates(claim: readonly Token[], passage: readonly Token[]): boolean {
  const universal = claim.filter(
    ({ lower }, at) =>
      lower !== 'only' || (claim[at + 1]?.kind === 'word' && !isNumberWord(claim[at + 1]?.lower ?? '')),
  );
  return (
    has(universal, UNIVERSALS) &&
    !has(passage, UNIVERSALS) &&
    (has(passage, PARTIALS) || has(universal, STRONG))
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
    ({ lower }, at) =>
      lower === 'as' &&
      !/^(?:times|twice|half)$/.test(passage[at - 1]?.lower ?? '') &&
      passage.slice(at + 2, at + 4).some((token) => token.lower === 'as'),
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
