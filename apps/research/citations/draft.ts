import { sentenceSpans } from '../text/sentences.ts';
import { isStopWord, isUnspaced, tokenize } from '../text/words.ts';
import { countWords, withoutAddresses } from './calls.ts';
import { plainClaim } from './document.ts';
import { normaliseCitations } from './forms.ts';

/** What a draft says in one place. */
export interface DraftStatement {
  /** As it is shown, without citation marks. */
  text: string;
  /** What is checked: a cell with its row and column, what a question takes for granted, a list item with its introduction. */
  statement: string;
  kind: 'sentence' | 'heading' | 'cell';
  /** The sources that it cites. */
  numbers: readonly number[];
  /** Says something that needs a source. */
  isClaim: boolean;
  /** It says something new, but by its form it may only name a topic, which a model can tell. */
  mayBeTopic?: boolean;
}

/** A heading, a list item, a row of a table, or a paragraph of sentences. */
export interface DraftLine<Part = DraftStatement> {
  prefix: string;
  sentences: Part[];
  /** What stands between its parts, and behind the last one. */
  between: string;
  suffix: string;
}

/**
 * Takes a draft apart into lines and statements; every form of citation is read, and addresses are left out. A heading is a
 * statement if it has words that neither `topics`, what the draft is about, nor the other lines have.
 */
export function readDraft(draft: string, topics: readonly string[] = []): DraftLine[] {
  const lines = withoutAddresses(normaliseCitations(draft)).split('\n');
  const known = [...topics, ...lines.filter((line) => !/^\s*#/.test(line))].join('\n').toLowerCase();
  const read: DraftLine[] = [];
  let isCode = false;
  let intro = '';
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    if (isCode || /^\s*(?:```|~~~)/.test(line)) {
      read.push(verbatim(line));
      continue;
    }
    if (isRow(line) && isRule(lines[at + 1])) {
      const end = lines.findIndex((each, index) => index > at && !isRow(each));
      const rows = lines.slice(at, end === -1 ? undefined : end);
      read.push(...readTable(rows));
      at += rows.length - 1;
      continue;
    }
    read.push(readLine(line, intro, known));
    const isItem = /^\s*(?:[-*•]|\d+[.)])\s/.test(line);
    if (!isItem && line.trim() !== '') intro = /[:：]\s*(?:\[\d+\]\s*)*$/.test(line) ? line : '';
  }
  return read;
}

function verbatim(text: string): DraftLine {
  return {
    prefix: '',
    sentences: [{ text, statement: text, kind: 'sentence', numbers: [], isClaim: false }],
    between: ' ',
    suffix: '',
  };
}

/** Items of fewer words say nothing without the line that introduces them. */
const WHOLE_ITEM = 6;

function readLine(line: string, intro: string, known: string): DraftLine {
  const [, prefix = '', body = ''] = /^(\s*(?:[-*•](?!\*)|\d+[.)]|#{1,6}|>)?\s*)(.*)$/.exec(line) ?? [];
  const kind = prefix.includes('#') ? ('heading' as const) : ('sentence' as const);
  const isItem = /[-*•\d]/.test(prefix);
  const sentences = citedSentences(body).map(({ text, numbers }) => {
    const plain = plainClaim(captionOf(text));
    const words = countWords(plain);
    const isPart = isItem && intro !== '' && words < WHOLE_ITEM;
    const statement = isPart ? `${withoutMarks(plainClaim(intro))} ${plain}` : presupposition(plain);
    const isStated = isClaim(plain, kind, numbers.length > 0);
    // A short line does not stand among the others.
    const rest = () => (kind === 'heading' ? known : known.replace(line.toLowerCase(), ''));
    const mayBeTopic =
      !isStated &&
      !QUESTION.test(plain) &&
      ((isPart && words > 0 && countWords(intro) >= LEAST_WORDS) ||
        (kind === 'sentence' && words > 1 && SHORT.test(plain)) ||
        (words >= LEAST_SENTENCE && saysMore(plain, rest())));
    return {
      text,
      statement,
      kind,
      numbers,
      isClaim: isStated || mayBeTopic,
      ...(mayBeTopic && { mayBeTopic }),
    };
  });
  return { prefix, sentences, between: ' ', suffix: '' };
}

/** "Table 2: Capacity in 2011" and "表2：…" say what stands behind their number. */
function captionOf(text: string): string {
  return text.replace(
    /^[*_]*(?:\p{L}{2,12}\.?\s|\p{Script=Han}{1,2}\s?)\p{Nd}{1,2}[a-z]?\s?(?:[:.–—][*_]*\s+|：[*_]*\s*)(?=\S)/u,
    '',
  );
}

const LEAST_WORDS = 4;
/** Of what ends like a sentence. */
const LEAST_SENTENCE = 3;
const FIGURE = /\p{N}/u;
const QUESTION = /[?？؟]["”’)]*$/;
/** "Sihwa closed." and "Capital – Oslo". */
const SHORT = /[.。]["”’)]*$|^[^–—]{2,60}\s[–—]\s*\S/u;

/** What cites something is a claim whatever its length; a question is one only if it takes something for granted. */
function isClaim(plain: string, kind: DraftStatement['kind'], isCited: boolean): boolean {
  const words = countWords(plain);
  if (QUESTION.test(plain)) return isPresupposing(plain, words);
  if (isCited) return true;
  if (kind === 'heading')
    return (
      words > 1 &&
      (hasOwnFigure(plain) || (words >= LEAST_SENTENCE && (ENDS.test(plain) || FINITE.test(plain))))
    );
  if (words >= (ENDS.test(plain) ? LEAST_SENTENCE : LEAST_WORDS)) return true;
  return words > 1 && (FIGURE.test(plain) || /^[^:：]{2,60}[:：]\s*\S/u.test(plain));
}

const ENDS = /[.!。！]["”’)]*$/;
/** Letters of a word that may be small, such as an article; in scripts without spaces one character. */
const SMALL = 3;
const ENDING = 3;

/** Whether a heading or a short line has a word that the rest does not have in any form; words are compared by their beginning. */
function saysMore(plain: string, known: string): boolean {
  const folded = withoutAccents(known);
  return tokenize(plain).some((word) => {
    if (isUnspaced(word)) return word.length > 1 && !known.includes(word);
    if (word.length <= SMALL || isStopWord(word)) return false;
    return !folded.includes(withoutAccents(word).slice(0, Math.max(SMALL + 1, word.length - ENDING)));
  });
}

/** "Dämme" and "Damm" begin alike. */
function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '');
}

/** Verbs that only a statement has: with one of them a heading states something also where all of its words stand below it. */
const FINITE =
  /(?<!\p{L})(?:is|are|was|were|has|have|had|will|cannot|does|did|ist|sind|war|waren|wird|wurden?|hat|haben|est|sont|était|étaient|ont|fut|fue|fueron|está|están|ha|han|è|sono|foi|são|heeft|zijn|werd|jest|są)(?!\p{L})|[是了]/iu;

/** A figure that says something; "Phase 2" and "1. Introduction" only count. */
function hasOwnFigure(plain: string): boolean {
  return FIGURE.test(plain.replace(/^\d+(?:\.\d+)*[.)]?\s|(?<=\p{L}\s)\d{1,2}$/gu, ''));
}

const WHY =
  /^(?:and |but |so )?(?:why|how come|warum|weshalb|wieso|pourquoi|por qu[eé]|perch[eé]|waarom|dlaczego|почему|зачем|لماذا)(?![\p{L}])|^(?:为什么|為什麼|为何|なぜ|どうして|왜|ทำไม)/iu;
const ASKING =
  /^(?:and |but |so )?(?:how|when|where|which|who|what|since when|wie|wann|wo|welche[mnrs]?|wer|was|seit wann|comment|quand|où|quels?|quelles?|combien|cómo|cuándo|cuánt[oa]s?|dónde|qué|quién|come|quando|quanto|quale|hoe|wanneer|welke|jak|kiedy|как|когда|где|сколько|كيف|متى|كم)(?![\p{L}])|^(?:何时|怎么|如何|いつ|どう|언제|어떻게|เมื่อไร|อย่างไร)/iu;

/** "Why did it rise to 40 %?" takes for granted that it did; "Is it open?" takes nothing. */
function isPresupposing(plain: string, words: number): boolean {
  if (WHY.test(plain)) return words >= LEAST_WORDS;
  return ASKING.test(plain) && FIGURE.test(plain);
}

/** What a question takes for granted; other texts as they are. */
function presupposition(plain: string): string {
  if (!QUESTION.test(plain)) return plain;
  return plain
    .replace(WHY, '')
    .replace(ASKING, '')
    .replace(/^\s*(?:did|do|does|is|are|was|were|has|have|had|will|would)\s/i, ' ')
    .replace(QUESTION, '.')
    .trim();
}

/** With the space before a stop that the mark parts from its sentence: "240 megawatts [1] ." but "files [1] .txt". */
const MARKS = /\s*\[\d{1,3}\](?:\s+(?=[.!?,;:。，](?:[\s\p{Pe}\p{Pf}"'*_]|$)))?/gu;

function withoutMarks(text: string): string {
  return text.replace(MARKS, '').trim();
}

function numbersIn(text: string): number[] {
  return [...new Set([...text.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number)))];
}

/** Sentences with the numbers that stand in them or right behind them; a bold lead is one of its own. */
function citedSentences(line: string): { text: string; numbers: number[] }[] {
  // Marks behind the full stop are drawn in front of it, so that they stay with their sentence.
  const drawn = line
    .replace(/(?<![.!?。！？])([.!?。！？]+)(\*\*|__)(?=\s|$|\[)/g, '$2$1')
    .replace(
      /([.!?。！？]["'”’)]*)((?:\s*\[\d{1,3}\])+)/g,
      (_, stop: string, marks: string) => ` ${marks.trim()}${stop}`,
    );
  const [, lead, rest] = /^(\*\*[^*]+[^*:：]\*\*(?:\s*\[\d{1,3}\])*)\s+(\p{Lu}.*)$/u.exec(drawn) ?? [];
  const parts = lead !== undefined && countWords(lead) >= LEAST_SENTENCE ? [lead, rest ?? ''] : [drawn];
  return parts
    .flatMap((part) => sentenceSpans(part))
    .map(({ text }) => ({ text: withoutMarks(text), numbers: numbersIn(text) }));
}

function isRow(line: string | undefined): boolean {
  return line !== undefined && /^\s*\|.*\|\s*$/.test(line);
}

function isRule(line: string | undefined): boolean {
  return line !== undefined && /^\s*\|(?:\s*:?-{2,}:?\s*\|)+\s*$/.test(line);
}

function cellsOf(row: string): string[] {
  return row
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** A cell is checked with its row and its column. A column of citations belongs to the cells of its rows. */
function readTable(rows: readonly string[]): DraftLine[] {
  const [heads = [], rule = [], ...body] = rows.map(cellsOf);
  const isCited = (at: number) =>
    body.length > 0 &&
    body.every((cells) => withoutMarks(cells[at] ?? '') === '') &&
    body.some((cells) => (cells[at] ?? '') !== '');
  const shown = heads.flatMap((_, at) => (isCited(at) ? [] : [at]));
  const line = (sentences: DraftStatement[]): DraftLine => ({
    prefix: '| ',
    sentences,
    between: ' | ',
    suffix: ' |',
  });
  const plain = (text: string): DraftStatement => ({
    text,
    statement: text,
    kind: 'cell',
    numbers: [],
    isClaim: false,
  });
  return [
    line(shown.map((at) => plain(withoutMarks(heads[at] ?? '')))),
    line(shown.map((at) => plain(rule[at] ?? '---'))),
    ...body.map((cells) => {
      const shared = numbersIn([cells[0] ?? '', ...cells.filter((_, at) => isCited(at))].join(' '));
      return line(
        shown.map((at) => {
          const text = withoutMarks(cells[at] ?? '');
          if (at === 0 && shown.length > 1) return plain(text);
          const own = numbersIn(cells[at] ?? '');
          const row = at === 0 ? '' : withoutMarks(plainClaim(cells[0] ?? ''));
          const column = withoutMarks(plainClaim(heads[at] ?? ''));
          const statement = `${[row, column].filter(Boolean).join(' — ')}: ${plainClaim(text, 'cell')}`;
          const isStated = /[\p{L}\p{N}]/u.test(text);
          const numbers = isStated ? [...new Set([...own, ...shared])] : own;
          return { text, statement, kind: 'cell' as const, numbers, isClaim: isStated || own.length > 0 };
        }),
      );
    }),
  ];
}
