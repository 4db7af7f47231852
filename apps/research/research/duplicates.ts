import { WORD } from '../text/words.ts';

/** Words in a row that count as taken over when another text has them too. */
const RUN = 5;
/** The share of a text that another must have for it to say nothing of its own. Pages of one site share their frame, so that it takes more. */
const REPEATED = 0.75;
const REPEATED_WITHIN_SITE = 0.9;
/** The share of its figures and names above which a text that has another's words fills a form with other ones. */
const OTHER_DETAILS = 0.2;
/** By how much a page may be longer than one it repeats before it has something to add. */
const MOST_LONGER = 3;
const LEAST_WORDS = 24;
const MOST_WORDS = 20_000;

/** A text as numbers: its runs of words in their order, and its figures and names with the words beside them. */
export interface Fingerprint {
  site: string;
  words: number;
  runs: Int32Array;
  known: ReadonlySet<number>;
  details: readonly Detail[];
  /** What stands beside figures and names. */
  places: ReadonlySet<number>;
  /** The same with what stands there. */
  filled: ReadonlySet<number>;
}

interface Detail {
  place: number;
  filled: number;
}

export function fingerprintOf(text: string, url: string): Fingerprint {
  const words = readWords(text);
  const { hashes } = words;
  const runs = new Int32Array(Math.max(0, hashes.length - RUN + 1));
  for (let start = 0; start < runs.length; start += 1) {
    let run = 0;
    for (let place = start; place < start + RUN; place += 1) run = mixed(run, hashes[place] ?? 0);
    runs[start] = run;
  }
  const details = detailsOf(words);
  return {
    site: siteOf(url),
    words: hashes.length,
    runs,
    known: new Set(runs),
    details,
    places: new Set(details.map(({ place }) => place)),
    filled: new Set(details.map(({ filled }) => filled)),
  };
}

/** Whether a text says nothing that a known one does not: a copy, a reprint under another headline, a shortened one, or one with other menus around it. */
export function isNearDuplicate(fresh: Fingerprint, known: Fingerprint): boolean {
  if (Math.min(fresh.words, known.words) < LEAST_WORDS) return isSame(fresh, known);
  return repeats(fresh, known) || (fresh.words <= MOST_LONGER * known.words && repeats(known, fresh));
}

function isSame(left: Fingerprint, right: Fingerprint): boolean {
  const isAlike = left.words === right.words && left.runs.length > 0;
  return isAlike && left.runs.every((run, place) => run === right.runs[place]);
}

function repeats(part: Fingerprint, whole: Fingerprint): boolean {
  const share = part.site === whole.site ? REPEATED_WITHIN_SITE : REPEATED;
  return sharesWords(part, whole, share * part.words) && !hasOtherDetails(part, whole);
}

/**
 * Whether so many words of the part stand in runs which the whole has too: an edit costs only the words that it changes.
 * Most texts have little in common, so it ends where the words that are left are too few.
 */
function sharesWords({ runs, words }: Fingerprint, { known }: Fingerprint, wanted: number): boolean {
  let [shared, end] = [0, 0];
  for (let start = 0; start < runs.length; start += 1) {
    if (shared + words - Math.max(end, start) < wanted) return false;
    if (!known.has(runs[start] ?? 0)) continue;
    shared += start + RUN - Math.max(end, start);
    end = start + RUN;
  }
  return shared >= wanted;
}

function hasOtherDetails({ details }: Fingerprint, { places, filled }: Fingerprint): boolean {
  const comparable = details.filter(({ place }) => places.has(place));
  const other = comparable.filter((detail) => !filled.has(detail.filled));
  return other.length > OTHER_DETAILS * comparable.length;
}

/** The words of a text as numbers, and where its figures and names are. */
interface Words {
  hashes: number[];
  details: number[];
  isDetail: boolean[];
}

function readWords(text: string): Words {
  const plain = text.replace(/[’‘]/g, "'");
  const words: Words = { hashes: [], details: [], isDetail: [] };
  // Without matchAll, which makes an object for each of some thousand words.
  const pattern = new RegExp(WORD);
  for (let found = pattern.exec(plain); found !== null; found = pattern.exec(plain)) {
    const [word] = found;
    const isOne = isDetail(word, plain, found.index);
    if (isOne) words.details.push(words.hashes.length);
    words.isDetail.push(isOne);
    words.hashes.push(hashOf(word));
    if (words.hashes.length === MOST_WORDS) break;
  }
  return words;
}

/** A figure, or a word with a capital letter that begins no sentence. */
function isDetail(word: string, text: string, at: number): boolean {
  const code = word.charCodeAt(0);
  // Small letters of ASCII, which most words begin with.
  if (code >= 0x61 && code <= 0x7a) return false;
  if (code >= 0x30 && code <= 0x39) return true;
  return /^\p{Lu}/u.test(word) && /^[\p{L}\p{N},;] $/u.test(text.slice(at - 2, at));
}

const ANY = 1;

/** Each figure and name with the two words before it and the one behind it, whatever figures and names those are. */
function detailsOf({ hashes, details, isDetail }: Words): Detail[] {
  const beside = (place: number) => (isDetail[place] === true ? ANY : (hashes[place] ?? 0));
  return details.map((at) => {
    const place = mixed(mixed(beside(at - 2), beside(at - 1)), beside(at + 1));
    return { place, filled: mixed(place, hashes[at] ?? 0) };
  });
}

/** FNV-1a over small letters, without the commas in figures; a collision costs no more than a small error of the shares. */
function hashOf(word: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < word.length; index += 1) {
    const code = word.charCodeAt(index);
    // Only letters of ASCII can be made small one by one.
    if (code > 0x7f) return hashOfAny(word);
    if (code === COMMA) continue;
    value = Math.imul(value ^ (code >= 0x41 && code <= 0x5a ? code + 0x20 : code), 0x01000193);
  }
  return value | 0;
}

const COMMA = 0x2c;

function hashOfAny(word: string): number {
  const lower = word.toLowerCase();
  const text = lower.includes(',') ? lower.replaceAll(',', '') : lower;
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value | 0;
}

function mixed(value: number, next: number): number {
  return Math.imul(value ^ (value >>> 15) ^ next, 0x2c1b3c6d);
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

/** The host; the files of the user are one site. */
function siteOf(url: string): string {
  return URL.parse(url, 'https://files')?.hostname.replace(/^www\./, '') ?? url;
}
