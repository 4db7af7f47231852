import type { CitationMode, CitationScore, Claim, ClaimChange } from '../api-types.ts';
import { callOf, withoutAddresses } from '../citations/calls.ts';
import { changeTexts } from '../citations/marks.ts';
import {
  type CheckedCitation,
  type CheckedLine,
  type CheckedSentence,
  isSupported,
} from '../citations/report.ts';
import type { Excerpt } from '../store/parts.ts';
import { oneLine } from '../text/sentences.ts';

export interface ReportSection {
  /** The name of a dimension, checked where it states something. */
  heading: CheckedSentence;
  lines: readonly CheckedLine[];
  /** How the section came about, where readers should know. */
  notes?: readonly string[];
  /** Said in place of the text if there are no lines; without it the section is left out. */
  reason?: string;
}

interface ReportSource {
  id: number;
  title: string;
  url: string;
  /** What its citations were checked against; missing where it is no stored text. */
  excerpt?: Excerpt | undefined;
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
  mode: CitationMode;
}

const SUMMARY_SENTENCES = 4;

/** Puts checked sections together: sources numbered as they are first cited, citations that do not hold marked. */
export function composeReport({ query, notice, sections, sources, problems, mode }: ReportInput): Report {
  const writer = new Writer(sources, mode);
  const summary = bestSentences(sections.filter(({ lines }) => lines.length > 0)).map(
    (sentence) => `- ${writer.sentence(sentence, false)}`,
  );
  const body = sections.flatMap(({ heading, lines, notes = [], reason }) => {
    const title = oneLine(heading.text);
    const paragraphs = writer.paragraphs(lines, title);
    const why = paragraphs.length > 0 ? '' : (writer.repeats(lines) ?? writer.emptied(lines) ?? reason);
    if (why === undefined) return [];
    const head = `## ${writer.heading({ ...heading, text: title })}\n\n`;
    const said = notes.map((words) => `_${oneLine(words)}_\n\n`);
    return [head, ...(why === '' ? [...said, ...paragraphs] : [`_${why}_\n\n`])];
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
  mode: CitationMode = 'marked',
): { text: string; claims: Claim[]; citations: CitationScore } {
  const writer = new Writer(sources, mode, numbers);
  const text = writer.paragraphs(lines).join('').trim() || (writer.emptied(lines) ?? '');
  return { text, claims: writer.claims, citations: writer.score };
}

/** From each section the sentence that its source bears out best and that no section before gave. */
function bestSentences(sections: readonly ReportSection[]): CheckedSentence[] {
  const chosen = new Map<string, CheckedSentence>();
  for (const { lines } of sections.slice(0, SUMMARY_SENTENCES)) {
    // Orders of a page never stand at the top, nor cells without their table.
    const fresh = lines
      .flatMap(({ sentences }) => sentences)
      .filter(({ text, kind }) => kind === 'sentence' && callOf(text) === undefined && !chosen.has(text));
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
  readonly score = {
    total: 0,
    supported: 0,
    uncited: 0,
    byModel: 0,
    byOwn: 0,
    unchecked: 0,
    doubtful: 0,
    statements: 0,
    changes: {} as Partial<Record<ClaimChange, number>>,
  };
  /** Sentences that stand in the report, with their section; none is written twice. */
  readonly #said = new Map<string, string>();
  #section = '';
  readonly #sources: ReadonlyMap<number, ReportSource>;
  readonly #mode: CitationMode;

  constructor(
    sources: ReadonlyMap<number, ReportSource>,
    mode: CitationMode,
    numbers: ReadonlyMap<number, number> = new Map(),
  ) {
    this.#sources = sources;
    this.#mode = mode;
    this.numbers = new Map(numbers);
  }

  /** Paragraphs as they are, list items and rows of a table together. */
  paragraphs(lines: readonly CheckedLine[], section = ''): string[] {
    this.#section = section;
    const written = lines.map(({ prefix, sentences, between, suffix }) => {
      const texts = sentences.map((sentence) => this.sentence(sentence, true));
      const text = (suffix === '' ? texts.filter(Boolean) : texts).join(between);
      return text === '' ? '' : `${prefix.replace(/#+/, '###')}${text}${suffix}`;
    });
    // An item that was left out leaves no gap in its list.
    return written
      .filter((text, at) => text !== '' || lines[at]?.sentences.length === 0)
      .join('\n')
      .split(/\n{2,}/)
      .map((paragraph) => paragraph.trim())
      .filter((paragraph) => paragraph !== '')
      .map((paragraph) => `${paragraph}\n\n`);
  }

  /** A heading of a section stands also where it is not borne out: it names a point of the plan. */
  heading(heading: CheckedSentence): string {
    return heading.isClaim ? this.#written(heading, true) : heading.text;
  }

  /** The sentence with its marks in front of the full stop: [2] holds, [2?] does not or was not checked, [?] stands where nothing is cited. */
  sentence(sentence: CheckedSentence, counts: boolean): string {
    if (!sentence.isClaim && sentence.numbers.length === 0) return sentence.text;
    const isProse = sentence.kind === 'sentence';
    if (counts && isProse && this.#said.has(sentence.text)) return '';
    const change = this.#lossOf(sentence);
    if (change !== undefined) {
      this.#count({ ...sentence, change }, []);
      return isProse || sentence.kind === 'heading' ? '' : '–';
    }
    if (counts && isProse) this.#said.set(sentence.text, this.#section);
    return this.#written(sentence, counts);
  }

  /** Why the statement is left out; undefined if it stays. */
  #lossOf(sentence: CheckedSentence): 'withheld' | 'dropped' | undefined {
    if (sentence.change === 'withheld' || sentence.change === 'dropped') return sentence.change;
    return this.#mode === 'strict' && sentence.isClaim && !isSupported(sentence) ? 'dropped' : undefined;
  }

  #written(sentence: CheckedSentence, counts: boolean): string {
    const known = sentence.citations.filter(({ number }) => this.#sources.has(number));
    const held = this.#mode === 'strict' ? known.filter(({ verdict }) => verdict.supported) : known;
    const isCut = known.length < sentence.citations.length;
    const marks = held.map((citation) => this.#mark(citation)).join('');
    if (counts) this.#count(sentence, held);
    const [, words = '', stop = ''] = /^([\s\S]*?)([.!?…。！？]*["'”’)]*)$/.exec(sentence.text) ?? [];
    return `${words.trimEnd()} ${marks}${marks === '' || isCut ? '[?]' : ''}${stop}`.trimStart();
  }

  /** Where the sentences of a section that has no words of its own stand; undefined if it has no sentences. */
  repeats(lines: readonly CheckedLine[]): string | undefined {
    const sentences = lines.flatMap(({ sentences: all }) => all);
    const sections = new Set(sentences.flatMap(({ text }) => this.#said.get(text) ?? []));
    if (sections.size === 0) return undefined;
    return `What the sources say on this point stands under ${[...sections].map((name) => `“${name}”`).join(', ')}.`;
  }

  /** Said of a section all of whose statements were left out. */
  emptied(lines: readonly CheckedLine[]): string | undefined {
    const hasStatements = lines.some(({ sentences }) => sentences.some(({ isClaim }) => isClaim));
    return hasStatements ? 'Nothing that was written on this point is borne out by its sources.' : undefined;
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
    const { change, statement, citations } = sentence;
    const isCell = sentence.kind === 'cell';
    const claim = { ...NO_CITATION, sentence: isCell ? statement : sentence.text };
    this.score.statements += 1;
    const made = citations.filter(({ number }) => !this.#sources.has(number));
    if (!sentence.isClaim) {
      this.#note('removed');
      this.claims.push({ ...claim, reason: 'it asks and states nothing', change: 'removed' });
      return;
    }
    const isLost = change === 'withheld' || change === 'dropped';
    if (isLost || known.length === 0) {
      const failed = citations[0]?.verdict;
      const reason = isLost ? (LOSSES[change] ?? failed?.reason ?? NO_CITATION.reason) : undefined;
      if (!isLost) this.score.uncited += 1;
      if (made.length > 0 && !isLost) this.#note('removed');
      if (change !== undefined) this.#note(change);
      this.claims.push({
        ...claim,
        reason: reason || (made.length > 0 ? madeUp(made) : NO_CITATION.reason),
        ...(isLost ? { change } : made.length > 0 && { change: 'removed' }),
      });
      return;
    }
    if (made.length > 0) {
      this.#note('removed');
      this.claims.push({ ...claim, reason: madeUp(made), change: 'removed' });
    }
    if (change !== undefined) this.#note(change);
    for (const { number, verdict } of known) {
      this.score.total += 1;
      if (verdict.supported) this.score.supported += 1;
      if (verdict.judge === 'model') this.score.byModel += 1;
      if (verdict.judge === 'own') this.score.byOwn += 1;
      if (verdict.judge === 'none') {
        this.score.unchecked += 1;
        this.score.doubtful += 1;
      }
      const { supported, judge, certain, score, reason, passage } = verdict;
      const source = this.#sources.get(number);
      this.claims.push({
        ...claim,
        sourceId: source?.id ?? null,
        number: this.#numberOf(number),
        supported,
        judge,
        certain,
        score,
        reason,
        passage: passage?.text ?? '',
        ...placeOf(passage, source?.excerpt),
        ...(change !== undefined && { change }),
      });
    }
  }

  #note(change: ClaimChange): void {
    this.score.changes[change] = (this.score.changes[change] ?? 0) + 1;
  }

  legend(): string[] {
    const { total, supported, uncited, unchecked, changes } = this.score;
    const marks =
      '[n?] marks a citation that its page does not bear out or that was not checked, [?] a sentence that no source read here bears out.';
    const doubt = `${unchecked} of ${total} citations were not checked, as no model judged them: look those up.`;
    return [
      ...(supported === total && uncited === 0 ? [] : [`_${marks}_\n\n`]),
      ...(unchecked === 0 ? [] : [`_${doubt}_\n\n`]),
      ...changeTexts(changes).map((words) => `_${words}_\n\n`),
    ];
  }

  sourceList(): string {
    const cited = [...this.#sources.values()]
      .filter(({ id }) => this.numbers.has(id))
      .sort((left, right) => (this.numbers.get(left.id) ?? 0) - (this.numbers.get(right.id) ?? 0));
    const lines = cited.map(({ id, title, url }) => `${this.numbers.get(id)}. ${titleOf(title)}${url}`);
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

/** A title that tells its reader to do something is no name of a page. */
function titleOf(title: string): string {
  return callOf(title) === 'bait' ? '' : `${withoutAddresses(oneLine(title))}: `;
}

const LOSSES: Partial<Record<ClaimChange, string>> = {
  withheld: 'it tells its reader to go, pay or say something',
};

function madeUp(citations: readonly CheckedCitation[]): string {
  return `the draft cites ${citations.map(({ number }) => `[${number}]`).join('')}, and there is no such source`;
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
