import type { CitationScore, Claim } from '../api-types.ts';
import type { CheckedCitation, CheckedLine, CheckedSentence } from '../citations/report.ts';
import type { Excerpt } from '../store/parts.ts';
import { oneLine } from '../text/sentences.ts';

export interface ReportSection {
  heading: string;
  lines: readonly CheckedLine[];
  /** Said in place of the text if there are no lines; without it the section is left out. */
  reason?: string;
}

interface ReportSource {
  id: number;
  title: string;
  url: string;
  /** What its citations were checked against. */
  excerpt: Excerpt;
}

export interface Report {
  /** Pieces of Markdown that together are the report. */
  blocks: string[];
  claims: Claim[];
  citations: CitationScore;
  /** The number of each source that the report cites. */
  numbers: Map<number, number>;
}

export interface ReportInput {
  query: string;
  /** Said at the top, such as that a demo model wrote it. */
  notice: string;
  sections: readonly ReportSection[];
  /** By the number that drafts use. */
  sources: ReadonlyMap<number, ReportSource>;
  /** Why the model did not judge all that is doubtful. */
  problems: ReadonlySet<string>;
}

const SUMMARY_SENTENCES = 4;

/** Puts checked sections together: sources numbered as they are first cited, citations that do not hold marked. */
export function composeReport({ query, notice, sections, sources, problems }: ReportInput): Report {
  const writer = new Writer(sources);
  const summary = bestSentences(sections.filter(({ lines }) => lines.length > 0)).map(
    (sentence) => `- ${writer.sentence(sentence, false)}`,
  );
  const body = sections.flatMap(({ heading, lines, reason }) => {
    const title = oneLine(heading);
    const paragraphs = writer.paragraphs(lines, title);
    if (paragraphs.length > 0) return [`## ${title}\n\n`, ...paragraphs];
    const why = writer.repeats(lines) ?? reason;
    return why === undefined ? [] : [`## ${title}\n\n`, `_${why}_\n\n`];
  });
  const blocks = [
    `# ${oneLine(query)}\n\n`,
    ...(notice === '' ? [] : [`> ${notice}\n\n`]),
    ...(summary.length > 1 ? [`## Summary\n\n${summary.join('\n')}\n\n`] : []),
    ...body,
    ...writer.legend(),
    writer.sourceList(),
  ];
  const problem = [...problems].join(' ');
  const citations = { ...writer.score, ...(problem !== '' && { problem }) };
  return { blocks, claims: writer.claims, citations, numbers: writer.numbers };
}

/** An answer from the sources of a report: checked like it, and with its numbers. */
export function composeAnswer(
  lines: readonly CheckedLine[],
  sources: ReportInput['sources'],
  numbers: ReadonlyMap<number, number>,
): { text: string; claims: Claim[] } {
  const writer = new Writer(sources, numbers);
  const text = writer.paragraphs(lines).join('').trim();
  return { text, claims: writer.claims };
}

/** From each section the sentence that its source bears out best and that no section before gave. */
function bestSentences(sections: readonly ReportSection[]): CheckedSentence[] {
  const chosen = new Map<string, CheckedSentence>();
  for (const { lines } of sections.slice(0, SUMMARY_SENTENCES)) {
    const fresh = lines.flatMap(({ sentences }) => sentences).filter(({ text }) => !chosen.has(text));
    const best = fresh.toSorted((left, right) => supportOf(right) - supportOf(left))[0];
    if (best !== undefined && supportOf(best) > 0) chosen.set(best.text, best);
  }
  return [...chosen.values()];
}

function supportOf({ citations }: CheckedSentence): number {
  return Math.max(
    0,
    ...citations.filter(({ verdict }) => verdict.supported).map(({ verdict }) => verdict.score),
  );
}

/** Writes sentences and keeps count of what they cite. */
class Writer {
  readonly claims: Claim[] = [];
  readonly numbers: Map<number, number>;
  readonly score: CitationScore & { unchecked: number } = {
    total: 0,
    supported: 0,
    uncited: 0,
    byModel: 0,
    unchecked: 0,
    doubtful: 0,
  };
  /** Sentences that stand in the report, with their section; none is written twice. */
  readonly #said = new Map<string, string>();
  #section = '';
  readonly #sources: ReadonlyMap<number, ReportSource>;

  constructor(sources: ReadonlyMap<number, ReportSource>, numbers: ReadonlyMap<number, number> = new Map()) {
    this.#sources = sources;
    this.numbers = new Map(numbers);
  }

  /** Paragraphs as they are, list items together. */
  paragraphs(lines: readonly CheckedLine[], section = ''): string[] {
    this.#section = section;
    const written = lines.map(({ prefix, sentences }) => {
      const text = sentences
        .map((sentence) => this.sentence(sentence, true))
        .filter(Boolean)
        .join(' ');
      return text === '' ? '' : `${prefix.replace(/#+/, '###')}${text}`;
    });
    return written
      .join('\n')
      .split(/\n{2,}/)
      .map((paragraph) => paragraph.trim())
      .filter((paragraph) => paragraph !== '')
      .map((paragraph) => `${paragraph}\n\n`);
  }

  /** The sentence with its marks in front of the full stop: [2] holds, [2?] does not or was not checked, [?] stands where nothing is cited. */
  sentence(sentence: CheckedSentence, counts: boolean): string {
    if (!sentence.isClaim) return sentence.text;
    if (counts && this.#said.has(sentence.text)) return '';
    if (counts) this.#said.set(sentence.text, this.#section);
    const known = sentence.citations.filter(({ number }) => this.#sources.has(number));
    const marks = known.map((citation) => this.#mark(citation)).join('');
    if (counts) this.#count(sentence, known);
    const [, words = '', stop = ''] = /^([\s\S]*?)([.!?…]*["'”’)]*)$/.exec(sentence.text) ?? [];
    return `${words} ${marks === '' ? '[?]' : marks}${stop}`;
  }

  /** Where the sentences of a section that has no words of its own stand; undefined if it has no sentences. */
  repeats(lines: readonly CheckedLine[]): string | undefined {
    const sentences = lines.flatMap(({ sentences: all }) => all);
    const sections = new Set(sentences.flatMap(({ text }) => this.#said.get(text) ?? []));
    if (sections.size === 0) return undefined;
    return `What the sources say on this point stands under ${[...sections].map((name) => `“${name}”`).join(', ')}.`;
  }

  #mark({ number, verdict }: CheckedCitation): string {
    const shown = this.#numberOf(number);
    return verdict.supported ? `[${shown}]` : `[${shown}?]`;
  }

  #numberOf(draftNumber: number): number {
    const id = this.#sources.get(draftNumber)?.id ?? 0;
    const number = this.numbers.get(id) ?? this.numbers.size + 1;
    this.numbers.set(id, number);
    return number;
  }

  #count(sentence: CheckedSentence, known: readonly CheckedCitation[]): void {
    if (known.length === 0) {
      this.score.uncited += 1;
      this.claims.push({ ...NO_CITATION, sentence: sentence.text });
    }
    for (const { number, verdict } of known) {
      this.score.total += 1;
      if (verdict.supported) this.score.supported += 1;
      if (verdict.judge === 'model') this.score.byModel += 1;
      if (verdict.judge === 'none') {
        this.score.unchecked += 1;
        this.score.doubtful += 1;
      }
      const { supported, judge, certain, score, reason, passage } = verdict;
      const source = this.#sources.get(number);
      this.claims.push({
        sentence: sentence.text,
        sourceId: source?.id ?? null,
        number: this.#numberOf(number),
        supported,
        judge,
        certain,
        score,
        reason,
        passage: passage?.text ?? '',
        ...placeOf(passage, source?.excerpt),
      });
    }
  }

  legend(): string[] {
    const { total, supported, uncited, unchecked } = this.score;
    const marks =
      '[n?] marks a citation that its page does not bear out or that was not checked, [?] a sentence that no source read here bears out.';
    const doubt = `${unchecked} of ${total} citations were not checked, as no model judged them: look those up.`;
    return [
      ...(supported === total && uncited === 0 ? [] : [`_${marks}_\n\n`]),
      ...(unchecked === 0 ? [] : [`_${doubt}_\n\n`]),
    ];
  }

  sourceList(): string {
    const cited = [...this.#sources.values()]
      .filter(({ id }) => this.numbers.has(id))
      .sort((left, right) => (this.numbers.get(left.id) ?? 0) - (this.numbers.get(right.id) ?? 0));
    const lines = cited.map(({ id, title, url }) => `${this.numbers.get(id)}. ${oneLine(title)}: ${url}`);
    return `## Sources\n\n${lines.join('\n')}\n`;
  }
}

/** Where a passage stands in the whole text of its source. */
function placeOf(
  passage: CheckedCitation['verdict']['passage'],
  excerpt: Excerpt | undefined,
): Pick<Claim, 'passageStart' | 'passageEnd'> {
  if (passage === undefined || excerpt === undefined) return { passageStart: null, passageEnd: null };
  const passageStart = excerpt.placeInWhole(passage.start);
  const length = passage.end - passage.start;
  return {
    passageStart,
    passageEnd: Math.min(excerpt.placeInWhole(passage.end - 1) + 1, passageStart + length),
  };
}

const NO_CITATION = {
  sourceId: null,
  number: null,
  supported: false,
  judge: 'rules' as const,
  certain: true,
  score: 0,
  reason: 'no source bears it out',
  passage: '',
  passageStart: null,
  passageEnd: null,
};
