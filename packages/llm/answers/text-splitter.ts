import { createHarmonyReader, harmonyMarks, type Piece, type SplitOptions } from './harmony.ts';
import { beginsWeakCall, callMarks, firstBlock, namesTool, readTextCalls } from './text-calls.ts';
import { findFirst, openerAt, openTail, strayClose, type ThoughtTag, thoughtCloses } from './thoughts.ts';

type Mode =
  | { kind: 'text' }
  /** `sure` is false where only the end of the thoughts will tell that they were some: unless `out`, `said` waits for it behind `opener`. */
  | { kind: 'thought'; closes: readonly string[]; sure: boolean; out: boolean; opener: string; said: string }
  /** Thoughts in the middle of an answer: they are none unless they are closed. */
  | { kind: 'aside'; close: string; said: string }
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

/** What a line begins with is told by so many signs of white space and of text; each step looks at no more. */
const longestHead = 256;

/** Blocks of an answer that are read in the hope of calls. */
const mostBlocks = 16;

/** An answer without the thoughts that were expected is mostly no longer than this; more of it goes out as thoughts. */
const shortestThoughts = 80;

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
  /** Thoughts came before, in the text or apart from it. */
  #hadThoughts = false;
  /** Closing tags that do not come any more. */
  readonly #missing = new Set<string>();
  #blocks = 0;
  /** Whether the line has a tag that `</s>` closes, and the last signs of the line. */
  #isStruck = false;
  #signs = '';
  #fence: string | undefined;
  #out: Piece[] = [];
  /** How thoughts ended that the answer was taken to begin within; `none` where there were none. */
  openThoughts: 'closed' | 'none' | undefined;

  constructor(options: SplitOptions) {
    this.#options = options;
    this.#offered = options.offered;
    const unsure = { sure: false, out: false, opener: '', said: '' };
    if (options.thoughts === 'open') this.#mode = { kind: 'thought', closes: thoughtCloses, ...unsure };
  }

  /** Whether something has come that may not yet go out. */
  get isHolding(): boolean {
    const mode = this.#mode;
    if (mode.kind === 'thought') return this.#rest !== '' || (!mode.out && mode.said !== '');
    return this.#rest !== '' || mode.kind === 'harmony' || mode.kind === 'aside';
  }

  /** The endpoint itself tells thoughts from text. */
  thoughtsComeApart(): void {
    this.#hadThoughts = true;
    if (this.#mode.kind === 'thought' && this.#mode.said === '' && this.#rest === '')
      this.#mode = { kind: 'text' };
  }

  push(text: string): Piece[] {
    this.#rest += text;
    return this.#read(false, false);
  }

  /** Whether what comes goes out as thoughts. */
  get isThinking(): boolean {
    return this.#mode.kind === 'thought' && this.#mode.out;
  }

  /** The last pieces. `isCut`: the model did not get to its end. `hasCalls`: its calls came apart, so that text is text. */
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
    if (mode.kind === 'aside') return this.#aside(mode, isEnd);
    if (this.#rest === '') return false;
    if (mode.kind === 'calls') return isEnd && this.#finishCalls();
    return this.#atLineStart ? this.#line(isEnd) : this.#plain(isEnd);
  }

  /** The white space and the text that the rest begins with. `isLate`: no more of them will come or be looked at. */
  #head(isEnd: boolean): { indent: number; line: string; isLate: boolean } {
    const indent = /^\s{0,256}/.exec(this.#rest)?.[0].length ?? 0;
    const line = this.#rest.slice(indent, indent + longestHead);
    return { indent, line, isLate: isEnd || indent >= longestHead || line.length >= longestHead };
  }

  #think(mode: Extract<Mode, { kind: 'thought' }>, isEnd: boolean, isCut: boolean): boolean {
    if (mode.opener === '' && mode.said === '') {
      const { indent, line, isLate } = this.#head(isEnd);
      const opener = this.#opener(line, isLate);
      if (opener === 'wait') return false;
      if (opener !== undefined) return this.#open(opener, indent);
    }
    const { at, length } = findFirst(this.#rest, mode.closes, isEnd);
    const text = this.#take(at);
    mode.said += text;
    const isOpen = mode.opener === '';
    const isThought = mode.sure || length > 0 || (isEnd && isCut && !this.#options.isGuess);
    const isLong = isOpen && !isEnd && mode.said.length > shortestThoughts;
    if (mode.out) this.#emit({ type: 'reasoning', text });
    else if (isThought || (isLong && this.#options.isLive)) {
      mode.out = true;
      this.#emit({ type: 'reasoning', text: isOpen ? mode.said : mode.said.trimStart() });
    }
    if (isEnd && !isThought) {
      this.#mode = { kind: 'text' };
      if (!isCut && mode.said.trim() !== '') this.openThoughts = 'none';
      this.#out.push(...this.#asText(mode.opener + mode.said));
      return false;
    }
    if (length > 0) {
      this.#mode = { kind: 'text' };
      this.#atLineStart = true;
      this.#hadThoughts = true;
      if (isOpen) this.openThoughts = 'closed';
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

  #aside(mode: Extract<Mode, { kind: 'aside' }>, isEnd: boolean): boolean {
    const { at, length } = findFirst(this.#rest, [mode.close], isEnd);
    mode.said += this.#take(at);
    if (length === 0 && !isEnd) return false;
    this.#mode = { kind: 'text' };
    if (length === 0) {
      this.#missing.add(mode.close);
      this.#rest = mode.said;
      return this.#passLine();
    }
    this.#hadThoughts = true;
    this.#emit({ type: 'reasoning', text: mode.said.slice(mode.said.indexOf('\n') + 1) });
    return this.#skip(length);
  }

  /** The calls at the end of the answer; text where they are none. */
  #finishCalls(): boolean {
    this.#mode = { kind: 'text' };
    const calls = this.#callsIn(this.#rest);
    if (calls === undefined) {
      this.#blocks += 1;
      if (this.#blocks >= mostBlocks) this.#offered = new Set();
      return this.#textLine(true);
    }
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
    const { indent, line, isLate } = this.#head(isEnd);
    if (indent >= longestHead) {
      this.#say(this.#take(indent));
      return true;
    }
    if (line === '' && !isEnd) return false;
    if (this.#fence !== undefined) return this.#fenced(line, isLate);
    const { thoughts } = this.#options;
    const offered = this.#offered;
    const lower = line.toLowerCase();
    const marks = [
      ...harmonyMarks,
      ...(thoughts === 'none' ? [] : answerMarks),
      ...(offered.size > 0 ? callMarks : []),
    ];
    if (!isLate && marks.some((mark) => mark.length > lower.length && mark.startsWith(lower))) return false;
    if (harmonyMarks.some((mark) => lower.startsWith(mark))) {
      this.#mode = { kind: 'harmony', reader: createHarmonyReader(this.#options) };
      return true;
    }
    if (thoughts !== 'none') {
      const opener = this.#opener(line, isLate);
      if (opener === 'wait') return false;
      if (opener !== undefined) return this.#open(opener, indent);
      const stray = this.#hadThoughts ? undefined : strayClose(line, isLate);
      if (stray === 'wait') return false;
      if (stray !== undefined) return this.#endStray(indent, stray);
      const mark = this.#hasText ? undefined : answerMarks.find((each) => lower.startsWith(each));
      if (mark !== undefined && (mark !== '<response>' || this.#hadThoughts))
        return this.#skip(indent + mark.length);
    }
    const call = this.#beginsCall(line, isLate);
    if (call === 'wait') return false;
    if (call) {
      this.#mode = { kind: 'calls' };
      return true;
    }
    return this.#textLine(isEnd);
  }

  /** A line that is text, or begins code. */
  #textLine(isEnd: boolean): boolean {
    const { line, isLate } = this.#head(isEnd);
    const fence = /^(?:```+|~~~+)/.exec(line)?.[0];
    if (fence === undefined) return this.#passLine();
    if (!line.includes('\n') && !isLate) return false;
    this.#fence = fence;
    return this.#passLine();
  }

  /** All that was said were thoughts. */
  #endStray(indent: number, length: number): boolean {
    this.#say(this.#take(indent));
    this.#emit({ type: 'stray' });
    this.#hasText = false;
    this.#hadThoughts = true;
    return this.#skip(length);
  }

  #skip(length: number): boolean {
    this.#take(length);
    this.#skipSpace = true;
    return true;
  }

  #opener(line: string, isEnd: boolean): ThoughtTag | 'wait' | undefined {
    const opener = openerAt(line);
    if (opener === 'wait') return isEnd ? undefined : 'wait';
    if (opener === undefined || this.#missing.has(opener.close)) return undefined;
    const behind = line.slice(opener.open.length);
    if (this.#hasText) {
      // In the middle of an answer a tag that a sentence goes on behind is only mentioned.
      if (behind === '') return isEnd ? undefined : 'wait';
      return opener.sure && /^[\r\n]/.test(behind) ? opener : undefined;
    }
    if (/^[ \t]*$/.test(behind)) return isEnd ? opener : 'wait';
    // "<think> is the tag" may be how an answer begins.
    return /^[ \t]+[^\s]/.test(behind) ? { ...opener, sure: false } : opener;
  }

  #open({ open, close, sure }: ThoughtTag, indent: number): boolean {
    if (this.#hasText) {
      this.#say(this.#take(indent));
      this.#mode = { kind: 'aside', close, said: '' };
      return true;
    }
    const opener = this.#take(indent + open.length);
    this.#mode = { kind: 'thought', closes: [close], sure, out: sure, opener, said: '' };
    return sure ? this.#skip(0) : true;
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
    if (!isEnd && !line.includes('\n') && (fence.startsWith(line) || line.startsWith(fence))) return false;
    if (new RegExp(`^${fence}+[ \\t]*(?:\\r?\\n|$)`).test(line)) this.#fence = undefined;
    return this.#passLine();
  }

  /** The beginning of the line decides nothing: all of it is plain text. */
  #passLine(): boolean {
    this.#say(this.#take(this.#rest.length - this.#rest.trimStart().length));
    this.#atLineStart = this.#rest === '';
    return true;
  }

  /** Text within a line, up to its end. */
  #plain(isEnd: boolean): boolean {
    const newline = this.#rest.indexOf('\n');
    // The line break stays: it belongs to what follows, which may be no text.
    const end = newline < 0 ? this.#rest.length : newline;
    const line = this.#rest.slice(0, end);
    if (newline >= 0) {
      this.#say(this.#take(end));
      this.#atLineStart = true;
      this.#isStruck = false;
      this.#signs = '';
      return true;
    }
    const isStruck = this.#isStruck || /<s>/i.test(this.#signs + line);
    const safe = safeLength(line, isEnd, this.#fence !== undefined, isStruck);
    const text = isEnd ? this.#take(end).slice(0, safe) : this.#take(safe);
    this.#isStruck ||= /<s>/i.test(this.#signs + text);
    this.#signs = (this.#signs + text).slice(-2);
    this.#say(text);
    return !isEnd && safe > 0;
  }

  #say(text: string): void {
    if (text.trim() !== '') this.#hasText = true;
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

/** How much of a line that goes on can go out; at the end, all but a token that ends answers. */
function safeLength(line: string, isEnd: boolean, isCode: boolean, isStruck: boolean): number {
  const tail = line.slice(-longestHead);
  const words = tail.trimEnd().toLowerCase();
  const token = endTokens.find((each) => words.endsWith(each) && !(isStruck && each === '</s>'));
  if (token !== undefined && !(isEnd && isCode))
    return line.length - (tail.length - tail.trimEnd().length) - token.length;
  return isEnd ? line.length : line.length - openTail(line, endTokens);
}
