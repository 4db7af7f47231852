import { wordsOf } from '../text/words.ts';

const SHINGLE = 5;
/** Shared part of both texts together, and of the shorter one alone, from which they count as the same. */
const ALIKE = 0.6;
const CONTAINED = 0.85;
const LEAST_SHINGLES = 20;
const MOST_WORDS = 20_000;

/** The runs of five words of a text, as numbers. */
export type Fingerprint = ReadonlySet<number>;

export function fingerprintOf(text: string): Fingerprint {
  const words = wordsOf(text).slice(0, MOST_WORDS);
  const shingles = new Set<number>();
  for (let start = 0; start + SHINGLE <= words.length; start += 1)
    shingles.add(hash(words.slice(start, start + SHINGLE).join(' ')));
  return shingles;
}

/** Whether two texts are the same but for trimmings: a copy, a mirror, a reprint with other menus around it. */
export function isNearDuplicate(left: Fingerprint, right: Fingerprint): boolean {
  const [small, large] = left.size < right.size ? [left, right] : [right, left];
  let shared = 0;
  for (const shingle of small) if (large.has(shingle)) shared += 1;
  if (small.size < LEAST_SHINGLES) return shared > 0 && shared === large.size;
  return shared / (small.size + large.size - shared) >= ALIKE || shared / small.size >= CONTAINED;
}

/** FNV-1a; a collision costs no more than a small error of the shares. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value ^= text.charCodeAt(index);
    value = Math.imul(value, 0x01000193);
  }
  return value >>> 0;
}

/** The address without what does not change the page: fragment, tracking fields, a closing slash. */
export function canonicalUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  parsed.hash = '';
  for (const name of [...parsed.searchParams.keys()])
    if (/^(?:utm_\w+|fbclid|gclid|mc_[ce]id|ref|igshid)$/.test(name)) parsed.searchParams.delete(name);
  return parsed.href.replace(/^http:/, 'https:').replace(/\/$/, '');
}
