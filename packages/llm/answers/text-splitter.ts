import { createHarmonyReader, harmonyMarks } from './harmony.ts';
import type { Piece, SplitOptions } from './pieces.ts';
import { beginsWeakCall, callMarks, firstBlock, namesTool, readTextCalls } from './text-calls.ts';
import { openerAt, strayClose, type ThoughtTag, thoughtCloses, thoughtTags } from './thoughts.ts';

type Mode =
  | { kind: 'text' }
  /** `sure` is false where only the end of the thoughts will tell that they were some. `said` is what went out of them. */
  | { kind: 'thought'; closes: readonly string[]; sure: boolean; said: string }
  /** Thoughts in the middle of an answer: they are none unless they are closed. */
  | { kind: 'aside'; tag: ThoughtTag }
  /** May be calls, which only the end of the answer can tell. */
  | { kind: 'calls' }
  | { kind: 'harmony'; reader: ReturnType<typeof createHarmonyReader> };

/** What templates put behind an answer; some gateways let it through. */
const endTokens = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|end|>',
  '<|return|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|end_response|>',
  '<end_of_turn>',
  '<｜end▁of▁sentence｜>',
  '</s>',
];

/** Longer than every mark around thoughts. */
const longestMark = 40;

/** What parts the answer from the thoughts before it. */
const answerMarks = ['<|start_response|>', '<response>', '<|begin_of_solution|>'];

/**
 * Splits what a model writes into text, thoughts and calls, as it comes. Where the text is cut into pieces makes no
 * difference: nothing goes out before it is certain what it is.
 */
export class TextSplitter {
  readonly #options: SplitOptions;
  #offered: ReadonlySet<string>;
  #mode: Mode = { kind: 'text' };
  /** What has come and is not decided yet. */
  #rest = '';
  #hasText = false;
  #atLineStart = true;
  /** White space behind a mark belongs to the mark. */
  #skipSpace = false;
  /** How much of the rest was searched for the end of thoughts. */
  #scanned = 0;
  #backticks = 0;
  #fence: string | undefined;
  #out: Piece[] = [];

  constructor(options: SplitOptions) {
    this.#options = options;
    this.#offered = options.offered;
    if (options.thoughts === 'open')
      this.#mode = { kind: 'thought', closes: thoughtCloses, sure: false, said: '' };
  }

  /** Whether something has come that may not yet go out. */
  get isHolding(): boolean {
    return this.#rest !== '' || this.#mode.kind === 'harmony';
  }

  /** The endpoint itself tells thoughts from text. */
  thoughtsComeApart(): void {
    if (this.#mode.kind === 'thought' && this.#mode.said === '' && this.#rest === '')
      this.#mode = { kind: 'text' };
  }

  push(text: string): Piece[] {
    this.#rest += text;
    return this.#read(false, false);
  }

  /** The last pieces. `isCut`: the model ran out of tokens. `hasCalls`: its calls came apart, so that text is text. */
  end(isCut: boolean, hasCalls: boolean): Piece[] {
    if (hasCalls) this.#offered = new Set();
    return this.#read(true, isCut);
  }

  #read(isEnd: boolean, isCut: boolean): Piece[] {
    while (this.#step(isEnd, isCut));
    const pieces = this.#out;
    this.#out = [];
    return pieces;
  }

  /** Decides about some of the rest; false when more has to come first. */
  #step(isEnd: boolean, isCut: boolean): boolean {
    const mode = this.#mode;
    if (this.#skipSpace) {
      this.#rest = this.#rest.trimStart();
      if (this.#rest !== '') this.#skipSpace = false;
      else if (!isEnd) return false;
    }
    if (mode.kind === 'thought') return this.#think(mode, isEnd, isCut);
    if (mode.kind === 'harmony') {
      this.#emit(...mode.reader.push(this.#take(this.#rest.length)));
      if (!isEnd) return false;
      this.#emit(...mode.reader.end());
      this.#mode = { kind: 'text' };
      return false;
    }
    if (this.#rest === '') return false;
    if (mode.kind === 'aside') return this.#aside(mode.tag, isEnd);
    if (mode.kind === 'calls') return isEnd && this.#finishCalls();
    return this.#atLineStart ? this.#line(isEnd) : this.#plain(isEnd);
  }

  #think(mode: Extract<Mode, { kind: 'thought' }>, isEnd: boolean, isCut: boolean): boolean {
    if (!mode.sure && this.#scanned === 0) {
      const opener = openerAt(this.#rest.trimStart());
      if (opener === 'wait' && !isEnd) return false;
      if (typeof opener === 'object')
        return this.#open(opener, this.#rest.length - this.#rest.trimStart().length);
    }
    const from = mode.sure ? 0 : Math.max(0, this.#scanned - longestMark);
    const found = findFirst(this.#rest.slice(from), mode.closes, isEnd);
    const { length } = found;
    this.#scanned = this.#rest.length;
    if (!mode.sure && length === 0 && !isEnd) return false;
    const text = this.#take(from + found.at);
    if (!mode.sure && length === 0 && !isCut) {
      this.#mode = { kind: 'text' };
      this.#out.push(...this.#asText(text));
      return false;
    }
    mode.said += text;
    this.#emit({ type: 'reasoning', text });
    if (length > 0) {
      this.#mode = { kind: 'text' };
      this.#atLineStart = true;
      return this.#skip(length);
    }
    if (isEnd) this.#endThoughts(mode.said);
    return false;
  }

  /** What looked like thoughts and was the answer. */
  #asText(text: string): Piece[] {
    const whole = new TextSplitter({ ...this.#options, thoughts: 'none' });
    return [...whole.push(text), ...whole.end(false, this.#offered.size === 0)];
  }

  /** Thoughts that were never closed may end with a call. */
  #endThoughts(said: string): void {
    this.#mode = { kind: 'text' };
    const block = firstBlock(said);
    const calls = block && this.#callsIn(block);
    if (calls) this.#emit(...calls);
  }

  #aside({ close }: ThoughtTag, isEnd: boolean): boolean {
    const from = Math.max(0, this.#scanned - longestMark);
    const { at, length } = findFirst(this.#rest.slice(from), [close], isEnd);
    this.#scanned = this.#rest.length;
    if (length === 0 && !isEnd) return false;
    this.#mode = { kind: 'text' };
    if (length === 0) return this.#passLine();
    const text = this.#take(from + at);
    this.#emit({ type: 'reasoning', text: text.slice(text.indexOf('\n') + 1) });
    return this.#skip(length);
  }

  /** The calls at the end of the answer; text where they are none. */
  #finishCalls(): boolean {
    this.#mode = { kind: 'text' };
    const calls = this.#callsIn(this.#rest);
    if (calls === undefined) return this.#textLine(true);
    this.#emit(...calls);
    this.#rest = '';
    return false;
  }

  #callsIn(block: string): Piece[] | undefined {
    const calls = readTextCalls(block, this.#offered);
    if (calls?.some((call) => this.#options.isQuoted(call))) return undefined;
    return calls?.map((call) => ({ type: 'call', call }));
  }

  /** Decides about the beginning of a line, where thoughts, calls and code begin. */
  #line(isEnd: boolean): boolean {
    const indent = this.#rest.length - this.#rest.trimStart().length;
    const line = this.#rest.slice(indent);
    if (line === '' && !isEnd) return false;
    if (this.#fence !== undefined) return this.#fenced(line, isEnd);
    const { thoughts } = this.#options;
    const offered = this.#offered;
    const lower = line.toLowerCase();
    const marks = [
      ...harmonyMarks,
      ...(thoughts === 'none' ? [] : answerMarks),
      ...(offered.size > 0 ? callMarks : []),
    ];
    if (!isEnd && marks.some((mark) => mark.length > lower.length && mark.startsWith(lower))) return false;
    if (harmonyMarks.some((mark) => lower.startsWith(mark))) {
      this.#mode = { kind: 'harmony', reader: createHarmonyReader(this.#options) };
      return true;
    }
    if (thoughts !== 'none') {
      const opener = this.#opener(line, isEnd);
      if (opener === 'wait') return false;
      if (opener !== undefined) return this.#open(opener, indent);
      const mark = this.#hasText ? undefined : answerMarks.find((each) => lower.startsWith(each));
      if (mark !== undefined) return this.#skip(indent + mark.length);
    }
    const call = this.#beginsCall(line, isEnd);
    if (call === 'wait') return false;
    if (call) {
      this.#mode = { kind: 'calls' };
      return true;
    }
    return this.#textLine(isEnd);
  }

  /** A line that is text, or begins code. */
  #textLine(isEnd: boolean): boolean {
    const fence = /^\s*(```+|~~~+)/.exec(this.#rest)?.[1];
    if (fence === undefined) return this.#passLine();
    if (!this.#rest.trimStart().includes('\n') && !isEnd) return false;
    this.#fence = fence;
    return this.#passLine();
  }

  #skip(length: number): boolean {
    this.#take(length);
    this.#skipSpace = true;
    return true;
  }

  #opener(line: string, isEnd: boolean): ThoughtTag | 'wait' | undefined {
    const opener = openerAt(line);
    if (opener === 'wait') return isEnd ? undefined : 'wait';
    if (opener === undefined) return undefined;
    if (!this.#hasText) return opener;
    // In the middle of an answer a tag that a sentence goes on behind is only mentioned.
    const behind = line[opener.open.length];
    if (behind === undefined) return isEnd ? undefined : 'wait';
    return opener.sure && /[\r\n]/.test(behind) ? opener : undefined;
  }

  #open(tag: ThoughtTag, indent: number): boolean {
    this.#scanned = 0;
    if (this.#hasText) {
      this.#say(this.#take(indent));
      this.#mode = { kind: 'aside', tag };
    } else {
      this.#mode = { kind: 'thought', closes: [tag.close], sure: tag.sure, said: '' };
      this.#skip(indent + tag.open.length);
    }
    return true;
  }

  #beginsCall(line: string, isEnd: boolean): boolean | 'wait' {
    const { writesCalls } = this.#options;
    const offered = this.#offered;
    if (offered.size === 0) return false;
    const lower = line.toLowerCase();
    if (lower.startsWith('functions.')) return namesTool(line, offered, isEnd);
    if (callMarks.some((mark) => lower.startsWith(mark))) return true;
    return (writesCalls || !this.#hasText) && beginsWeakCall(line, offered, isEnd, this.#hasText);
  }

  #fenced(line: string, isEnd: boolean): boolean {
    const fence = this.#fence ?? '';
    const isWhole = this.#rest.includes('\n', this.#rest.length - line.length);
    if (!isEnd && !isWhole && (fence.startsWith(line) || line.startsWith(fence))) return false;
    if (new RegExp(`^${fence}+[ \\t]*(?:\\r?\\n|$)`).test(line)) this.#fence = undefined;
    return this.#passLine();
  }

  /** The beginning of the line decides nothing: all of it is plain text. */
  #passLine(): boolean {
    this.#say(this.#take(this.#rest.length - this.#rest.trimStart().length));
    this.#atLineStart = this.#rest === '';
    this.#backticks = 0;
    return true;
  }

  /** Text within a line, up to its end. */
  #plain(isEnd: boolean): boolean {
    const newline = this.#rest.indexOf('\n');
    // The line break stays: it belongs to what follows, which may be no text.
    const end = newline < 0 ? this.#rest.length : newline;
    const line = this.#rest.slice(0, end);
    const isWhole = isEnd || newline >= 0;
    const isCode = this.#fence !== undefined;
    const stray = isCode || this.#options.thoughts === 'none' ? undefined : strayClose(line, isWhole);
    if (stray !== undefined && countBackticks(line.slice(0, stray.at), this.#backticks) % 2 === 0) {
      this.#say(this.#take(stray.at));
      this.#emit({ type: 'stray' });
      this.#hasText = false;
      this.#atLineStart = true;
      return this.#skip(stray.length);
    }
    const safe = isWhole && newline >= 0 ? line.length : safeLength(line, isEnd, isCode);
    if (isEnd && newline < 0) {
      this.#say(this.#take(line.length).slice(0, safe));
      return false;
    }
    this.#say(this.#take(safe));
    if (newline >= 0) this.#atLineStart = true;
    return newline >= 0 || safe > 0;
  }

  #say(text: string): void {
    if (text.trim() !== '') this.#hasText = true;
    this.#backticks = countBackticks(text, this.#backticks);
    this.#emit({ type: 'text', text });
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    return taken;
  }

  #emit(...pieces: Piece[]): void {
    for (const piece of pieces) {
      const last = this.#out.at(-1);
      if (piece.type !== 'text' && piece.type !== 'reasoning') this.#out.push(piece);
      else if (last?.type === piece.type)
        this.#out[this.#out.length - 1] = { ...piece, text: last.text + piece.text };
      else if (piece.text !== '') this.#out.push(piece);
    }
  }
}

function countBackticks(text: string, before: number): number {
  return before + (text.match(/`/g)?.length ?? 0);
}

/** Where the first of the marks begins; without one, how much of the text can be none of them. */
function findFirst(text: string, marks: readonly string[], isEnd: boolean): { at: number; length: number } {
  const lower = text.toLowerCase();
  const found = marks
    .map((mark) => ({ at: lower.indexOf(mark.toLowerCase()), length: mark.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((left, right) => left.at - right.at)[0];
  if (found !== undefined) return found;
  return { at: isEnd ? text.length : text.length - openTail(lower, marks), length: 0 };
}

/** Signs at the end that may be the beginning of a mark. */
function openTail(lower: string, marks: readonly string[]): number {
  const longest = Math.min(lower.length, Math.max(...marks.map(({ length }) => length)) - 1);
  for (let length = longest; length > 0; length -= 1) {
    const tail = lower.slice(-length);
    if (marks.some((mark) => mark.toLowerCase().startsWith(tail))) return length;
  }
  return 0;
}

/** How much of a line that goes on can go out; at the end, all but a token that ends answers. */
function safeLength(line: string, isEnd: boolean, isCode: boolean): number {
  const lower = line.toLowerCase();
  if (isEnd) {
    const token = isCode ? undefined : endTokens.find((each) => lower.trimEnd().endsWith(each));
    return token === undefined ? line.length : lower.trimEnd().length - token.length;
  }
  const whole = [...endTokens, ...strayMarks].find((each) => lower.trimEnd().endsWith(each));
  if (whole !== undefined) return lower.trimEnd().length - whole.length;
  return line.length - openTail(lower, [...endTokens, ...strayMarks]);
}

/** Those that `strayClose` looks for; words such as "here" must not be held back. */
const strayMarks = thoughtTags.map(({ close }) => close).filter((close) => close.startsWith('</'));
