import { ModelError } from '@trunkline/llm';
import { createBorder, fenceInstructions } from '@trunkline/loop';
import type { SectionNote } from '../api-types.ts';
import { callOf, MARK_INSTRUCTIONS, markCalls } from '../citations/calls.ts';
import { normaliseCitations } from '../citations/forms.ts';
import { sentenceSpans } from '../text/sentences.ts';
import { contentStems } from '../text/words.ts';
import { chooseMaterial, type Material, type NumberedPassage, type NumberedSource } from './material.ts';
import type { ModelRequest } from './model.ts';
import type { RunContext } from './run-context.ts';

const SENTENCES = 5;

const INSTRUCTIONS = `You write one part of a report. Use only the numbered passages, and say nothing that they do not say.
End every sentence with the number of each passage that bears it out, as [3] or [3][5]. Keep numbers, names, dates and reservations exactly as they are.
Where passages disagree, say so. Write one to three paragraphs of plain prose without headings and without a list of sources.`;

export interface Draft extends Material {
  draft: string;
  /** The model only repeated other sections, so these sentences were chosen from the passages. */
  isChosen?: boolean;
}

/** What was read, under the numbers that drafts use. A later pass adds sources behind those that are there. */
export function readSources({ id, findings }: RunContext): NumberedSource[] {
  return findings
    .sources(id)
    .map((source, index) => ({ number: index + 1, source }))
    .filter(({ source }) => source.state === 'read');
}

/**
 * Writes the sections of one job side by side. What a section is written from depends only on its own dimension and those
 * before it, so that sections can be begun while the evaluation still looks for gaps. Drafts are stored as they come.
 */
export class DraftWriter {
  readonly #context: RunContext;
  readonly #stop = new AbortController();
  readonly #underWay = new Map<number, Promise<string>>();

  constructor(context: RunContext) {
    this.#context = { ...context, signal: AbortSignal.any([context.signal, this.#stop.signal]) };
  }

  /** Begins every section whose dimension is researched. A section that fails here is tried again by `all`. */
  begin(): void {
    for (const material of this.#materials())
      if (material.dimension.state === 'done')
        this.#write(material).catch((error: unknown) => this.#noteFailure(material, error));
  }

  all(): Promise<Draft[]> {
    return Promise.all(
      this.#materials().map(async (material) => ({ ...material, draft: await this.#write(material) })),
    );
  }

  /** Breaks off what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#underWay.values());
  }

  #materials(): Material[] {
    return chooseMaterial(this.#context, readSources(this.#context));
  }

  #noteFailure({ dimension }: Material, error: unknown): void {
    const { id, logger, signal } = this.#context;
    if (signal.aborted) return;
    const fields = { err: error, researchId: id, section: dimension.name };
    logger.warn(fields, 'failed to write section ahead; retrying with the report');
  }

  #write(material: Material): Promise<string> {
    const { position } = material.dimension;
    const known = this.#context.findings.drafts(this.#context.id).get(position);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#underWay.get(position) ?? this.#writeNew(material);
    this.#underWay.set(position, running);
    return running;
  }

  async #writeNew(material: Material): Promise<string> {
    const { id, jobs, findings } = this.#context;
    const { position } = material.dimension;
    try {
      const { text, notes } = await draftSection(this.#context, material);
      const section = { dimension: material.dimension.name, index: position };
      const events = notes.map((note) => ({ type: 'section_note', data: { ...section, ...note } }));
      jobs.commit(id, events, () => {
        findings.addDraft(id, position, text);
        for (const note of notes) findings.addNote(id, position, note);
      });
      return text;
    } finally {
      this.#underWay.delete(position);
    }
  }
}

const OWN_SENTENCES = 3;

/**
 * A section that only repeats those before it gets what else its passages say on its point, as an extractive model gives
 * the same sentences for every point of a small library.
 */
export function withOwnWords(drafts: readonly Draft[]): Draft[] {
  const said = new Set<string>();
  return drafts.map((each) => {
    // One that cites nothing has failed: nobody is to take our choice of sentences for the model's.
    const isRepeated =
      /\[\d+\]/.test(each.draft) && sentencesOf(each.draft).every((sentence) => said.has(sentence));
    const chosen = isRepeated ? unsaid(each, said) : '';
    const draft = chosen || each.draft;
    for (const sentence of sentencesOf(draft)) said.add(sentence);
    return { ...each, draft, ...(chosen !== '' && { isChosen: true }) };
  });
}

function unsaid({ dimension: { name, queries }, passages }: Draft, said: ReadonlySet<string>): string {
  const wanted = new Set(contentStems([name, ...queries].join(' ')));
  const found = passages.flatMap(({ number, text }) =>
    quotable(text).map((sentence) => {
      const hits = contentStems(sentence).filter((stem) => wanted.has(stem)).length;
      return { sentence, cited: `${sentence} [${number}]`, hits };
    }),
  );
  return found
    .filter(({ sentence, hits }) => hits > 0 && !said.has(plain(sentence)))
    .toSorted((left, right) => right.hits - left.hits)
    .slice(0, OWN_SENTENCES)
    .map(({ cited }) => cited)
    .join(' ');
}

function sentencesOf(draft: string): string[] {
  return sentenceSpans(draft).map(({ text }) => plain(text));
}

/** Without marks of citations and the full stop. */
function plain(sentence: string): string {
  return sentence
    .replace(/\s*\[\d+\]/g, '')
    .replace(/(?<![.!?…\s])[.!?…\s]+$/, '')
    .trim();
}

/** One section in draft: sentences that cite sources by number. Where the model gives none the sources speak themselves. */
async function draftSection(
  context: RunContext,
  { dimension, passages }: Material,
): Promise<{ text: string; notes: SectionNote[] }> {
  const { query, budget, model, ask } = context;
  if (passages.length === 0) return { text: '', notes: [] };
  const about = `, as one part of the work on ${query.replace(/[\n:]/g, ' ')}`;
  let refused = 'the model returned nothing for it';
  const shortened = new Set<string>();
  const text = await budget.within(
    'report',
    context.signal,
    (signal) =>
      writeFrom(passages, {
        model,
        ask: { ...ask, signal, onShortened: (why) => shortened.add(why) },
        question: dimension.name,
        about,
      }).catch((error: unknown) => {
        if (!(error instanceof ModelError) || error.code !== 'content-filter') throw error;
        refused = error.message.replace(/\.$/, '');
        return '';
      }),
    (why) => (refused = why),
  );
  if (!text) return { text: extract(passages), notes: [extractNote(refused)] };
  const notes = [...shortened].map((why) => ({
    kind: 'shortened' as const,
    words: `Written from less than was found: ${why}.`,
  }));
  return { text, notes };
}

export function extractNote(why: string): SectionNote {
  return {
    kind: 'extract',
    words: `An extract, not written by the model: ${why}. Its sentences are taken from the sources as they stand.`,
  };
}

interface Writing {
  model: RunContext['model'];
  ask: RunContext['ask'] & Pick<ModelRequest, 'onShortened'>;
  question: string;
  /** What the question belongs to, as the end of a sentence. */
  about: string;
}

/** What the model makes of the passages; empty when it makes nothing of them. */
export async function writeFrom(
  passages: readonly NumberedPassage[],
  { model, ask, question, about }: Writing,
): Promise<string> {
  const border = createBorder();
  const material = passages.map(
    ({ number, text }) =>
      `[${number}] ${markCalls(text)
        .replace(/[^\S\n]+/g, ' ')
        .replaceAll(border, '')}`,
  );
  const order = `Answer the question using the numbered passages below. The question is "${question.replace(/["\n:]/g, ' ')}"${about}`;
  // The fence opens in the first paragraph, which is never cut, and nothing follows its end.
  const prompt = [`${order}\n<${border}>`, ...material, `</${border}>`].join('\n\n');
  const instructions = `${INSTRUCTIONS}\n${fenceInstructions(border)}\n${MARK_INSTRUCTIONS}`;
  return normaliseCitations((await model.text({ ...ask, instructions, prompt })).trim());
}

/** The first sentence of each of the best passages, with the source that it stands in; a table where there is no sentence. */
export function extract(passages: readonly NumberedPassage[]): string {
  const best = passages.toSorted((left, right) => right.score - left.score).slice(0, SENTENCES);
  const sentences = best.flatMap(({ number, text }) =>
    quotable(text)
      .slice(0, 1)
      .map((sentence) => `${sentence} [${number}]`),
  );
  const tables = best.filter(({ text }) => quotable(text).length === 0).map(citedTable);
  return [sentences.join(' '), ...tables].filter(Boolean).join('\n\n');
}

/** The sentences of a passage that may be repeated: none that wants something of its reader, and no row of a table. */
function quotable(text: string): string[] {
  return sentenceSpans(text)
    .map((span) => span.text.replace(/^- /, ''))
    .filter((sentence) => !sentence.startsWith('|') && callOf(sentence) === undefined);
}

/** The table of a passage, each of whose cells cites its source. Without a head that may be repeated its rows say little. */
function citedTable({ number, text }: NumberedPassage): string {
  const [first = '', ...others] = text.split('\n').filter((line) => line.startsWith('|'));
  const rows = others.filter((line) => callOf(line) === undefined);
  if (rows.length === 0 || callOf(first) !== undefined) return '';
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const head = cellsOf(first);
  const cited = rows.map((line) =>
    cellsOf(line).map((cell, at) => (at === 0 || cell === '' ? cell : `${cell} [${number}]`)),
  );
  return [head, head.map(() => '---'), ...cited].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
