import { areSynonyms } from './synonyms.ts';
import type { Token } from './tokens.ts';

/** "Copper rather than iron": what is chosen and what is put aside. */
interface Contrast {
  chosen: readonly Token[];
  rejected: readonly Token[];
}

const REACH = 4;

/** The claim states what the passage puts aside, or has the two the other way round. */
export function takesRejected(claim: readonly Token[], passage: readonly Token[]): boolean {
  const stated = contrastOf(passage);
  if (stated === undefined) return false;
  const own = contrastOf(claim);
  if (own !== undefined) return shares(own.chosen, stated.rejected) && shares(own.rejected, stated.chosen);
  const [aside, kept] = [stated.rejected, stated.chosen].map((side) =>
    side.filter(({ kind }) => kind === 'number'),
  );
  if (aside !== undefined && kept !== undefined && shares(aside, claim) && !shares(kept, claim)) return true;
  const isDenied = claim.some(({ lower }) => lower === 'not' || lower === 'no' || lower.endsWith("n't"));
  return !isDenied && shares(stated.rejected, claim) && !shares(stated.chosen, claim);
}

function contrastOf(tokens: readonly Token[]): Contrast | undefined {
  const at = tokens.findIndex(
    ({ lower }, place) =>
      (lower === 'rather' && tokens[place + 1]?.lower === 'than') ||
      (lower === 'instead' && tokens[place + 1]?.lower === 'of') ||
      (lower === 'place' && tokens[place - 1]?.lower === 'in' && tokens[place + 1]?.lower === 'of'),
  );
  if (at === -1) return undefined;
  const content = (part: readonly Token[]) =>
    part.filter((token) => token.content || token.kind === 'number');
  const rejected = content(tokens.slice(at + 2)).slice(0, REACH);
  const before = content(tokens.slice(0, at)).slice(-REACH);
  // What both sides have tells nothing apart.
  const chosen = before.filter((token) => !shares([token], rejected));
  return { chosen, rejected: rejected.filter((token) => !shares([token], before)) };
}

function shares(words: readonly Token[], tokens: readonly Token[]): boolean {
  return words.some(({ stem }) => tokens.some((token) => areSynonyms(token.stem, stem)));
}
