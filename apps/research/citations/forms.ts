/** A range of more sources than this is no citation that a reader could look up: only its ends count. */
const WIDEST_RANGE = 12;

const NUMBERS = String.raw`\d{1,3}(?:\s*(?:[,;，、]|[-–—])\s*\^?\d{1,3})*`;
/** `[1]`, `[1, 3]`, `[1-3]`, `[^1]`, `[[1]](https://…)`, `【1】`, `【1:0†source】`, `［1］`. */
const FORMS = new RegExp(
  String.raw`\[?\[\^?(${NUMBERS})\]\]?(?:\((?:https?:|#|\/)[^()\s]*\))?|[【［](${NUMBERS})(?::\d+)?(?:†[^】］]*)?[】］]`,
  'g',
);
const ROUND = new RegExp(String.raw`(?<=[\p{L}\p{N}%”"’')])\s?\((${NUMBERS})\)`, 'gu');
/** Where a citation in round brackets stands: right before or behind the end of a sentence. */
const AT_END = /^\s*(?:[.!?。！？]|$|\||\n)/;
/** Definitions of footnotes and link references: the list of sources is ours. */
const DEFINITIONS = /^\s{0,3}\[\^?\d{1,3}\]:\s.*$\n?/gm;

/** Every form of citation as `[n]`, one number a mark. Round brackets count only if the text cites by them alone. */
export function normaliseCitations(text: string): string {
  const plain = text
    .replace(DEFINITIONS, '')
    .replace(FORMS, (_, square?: string, corner?: string) => marksOf(square ?? corner ?? ''));
  return /\[\d{1,3}\]/.test(plain) ? plain : roundCitations(plain);
}

function roundCitations(text: string): string {
  const found = [...text.matchAll(ROUND)];
  const isCitation = ({ 0: mark, index }: RegExpExecArray) => AT_END.test(text.slice(index + mark.length));
  if (found.length === 0 || !found.every(isCitation)) return text;
  return text.replace(ROUND, (_, numbers: string) => ` ${marksOf(numbers)}`);
}

function marksOf(numbers: string): string {
  const list = numbers.split(/\s*[,;，、]\s*/).flatMap((part) => {
    const [from = 0, to = from] = part.match(/\d+/g)?.map(Number) ?? [];
    if (to <= from || to - from >= WIDEST_RANGE) return [...new Set([from, to])];
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return [...new Set(list)].map((number) => `[${number}]`).join('');
}
