import { contentWords, sentencesOf, shorten } from './text.ts';

const longestSentence = 400;
/** Of two sentences that share more of their words than this, the weaker one is left out. */
const tooAlike = 0.7;

interface Candidate {
  text: string;
  words: Set<string>;
  position: number;
  score: number;
}

interface SummaryOptions {
  sentences: number;
  /** Words the summary should turn around, such as the question. */
  focus?: string;
}

/** Picks the sentences that say most, by word frequency, place and focus, and gives them in their own order. */
export function summarise(text: string, options: SummaryOptions): string {
  return salientSentences(text, options).join(' ');
}

export function salientSentences(text: string, { sentences, focus = '' }: SummaryOptions): string[] {
  const candidates = rank(markedSentences(text), new Set(contentWords(focus)));
  const chosen: Candidate[] = [];
  for (const candidate of [...candidates].sort((a, b) => b.score - a.score || a.position - b.position)) {
    if (chosen.length >= sentences) break;
    if (!chosen.some((other) => overlap(candidate.words, other.words) > tooAlike)) chosen.push(candidate);
  }
  return chosen.sort((a, b) => a.position - b.position).map((candidate) => candidate.text);
}

/** Sentences of the text without its headings; those under a numbered source line such as "[2] Title" carry its number. */
function markedSentences(text: string): string[] {
  let mark = '';
  const lines = text.split('\n').filter((line) => !/^\s*#{1,6}\s/.test(line));
  return lines.flatMap((line) => {
    const source = /^\s*\[(\d{1,3})\]\s*(.*)$/.exec(line);
    if (source) mark = `[${source[1]}]`;
    const body = source ? (source[2] ?? '') : line;
    return sentencesOf(body)
      .filter(isProse)
      .map((sentence) => withMark(shorten(sentence, longestSentence), mark));
  });
}

function isProse(sentence: string): boolean {
  return !/^\||https?:\/\//.test(sentence) && sentence.split(/\s+/).length >= 4;
}

function withMark(sentence: string, mark: string): string {
  return mark === '' || /\[\d{1,3}\]/.test(sentence) ? sentence : `${sentence} ${mark}`;
}

function rank(sentences: string[], focus: Set<string>): Candidate[] {
  const frequency = countWords(sentences);
  return sentences.map((text, position) => {
    const words = new Set(contentWords(text));
    const weight =
      [...words].reduce((sum, word) => sum + (frequency.get(word) ?? 0), 0) / Math.sqrt(words.size + 1);
    const focused = 1 + [...words].filter((word) => focus.has(word)).length;
    const placed = position === 0 ? 1.5 : 1 + 0.3 / (1 + position);
    return { text, words, position, score: weight * focused * placed };
  });
}

/** How often each word that carries meaning occurs. */
export function countWords(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of texts.flatMap(contentWords)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Share of the smaller set that both have. */
function overlap(left: Set<string>, right: Set<string>): number {
  const smaller = Math.min(left.size, right.size);
  return smaller === 0 ? 0 : [...left].filter((word) => right.has(word)).length / smaller;
}
