import type { TextCall } from './text-calls.ts';

/** A stretch of an answer. `stray`: all text so far were thoughts whose opening tag was left out. */
export type Piece =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'call'; call: TextCall }
  | { type: 'stray' };

export interface SplitOptions {
  /** `open`: the answer begins within thoughts, whose opening tag stands in the model's template. */
  thoughts: 'auto' | 'open' | 'none';
  /** `open` is only a guess from earlier answers: what is cut off before thoughts end is text. */
  isGuess: boolean;
  /** Thoughts that the answer begins within go out as they come. Where they turn out to be the answer, it follows as text. */
  isLive: boolean;
  /** Tools whose calls are read; none are read when it is empty. */
  offered: ReadonlySet<string>;
  /** The model is known to write calls as text: forms that could be an answer count too. */
  writesCalls: boolean;
  /** Whether the model repeats text from outside: that is never a call. */
  isQuoted(call: TextCall): boolean;
}

/** What gpt-oss begins a message with, where the gateway leaves it in. */
export const harmonyMarks: readonly string[] = ['<|channel|>', '<|start|>'];

const bodyEnds = /<\|(?:end|return|call|start|channel)\|>/;
const longestHeader = 400;
const longestToken = 12;

/**
 * Reads messages of OpenAI's harmony format: `<|channel|>analysis<|message|>…<|end|>` are thoughts, `final` is the answer,
 * `commentary to=functions.name` a call. Calls count when they end the answer.
 */
export function createHarmonyReader({ offered, isQuoted }: Pick<SplitOptions, 'offered' | 'isQuoted'>) {
  let rest = '';
  let header: string | undefined;
  let body = '';
  let calls: Piece[] = [];

  function push(text: string): Piece[] {
    rest += text;
    const pieces: Piece[] = [];
    while (header === undefined ? readHeader() : readBody(pieces, false));
    return pieces;
  }

  function end(): Piece[] {
    const pieces: Piece[] = [];
    if (header !== undefined) {
      while (readBody(pieces, true) && header !== undefined);
      conclude(pieces);
    }
    const words = rest.replaceAll(/<\|\w+\|>(?:assistant)?/g, '');
    if (words.trim() !== '') {
      header = 'final';
      say(words, pieces);
    }
    return [...pieces, ...calls];
  }

  function readHeader(): boolean {
    const at = rest.indexOf('<|message|>');
    if (at >= 0 && at <= longestHeader) {
      header = rest.slice(0, at);
      body = '';
      rest = rest.slice(at + '<|message|>'.length);
      return true;
    }
    if (rest.length <= longestHeader + longestToken) return false;
    // No header is that long: what follows is text, without the token that seemed to begin a header.
    header = 'final';
    rest = rest.replace(/^<\|\w+\|>/, '');
    return true;
  }

  function readBody(pieces: Piece[], isEnd: boolean): boolean {
    const found = bodyEnds.exec(rest);
    const open = isEnd || found !== null ? -1 : rest.lastIndexOf('<');
    const isOpen =
      open >= 0 && rest.length - open < longestToken && /^<(?:\|\w*\|?)?$/.test(rest.slice(open));
    const length = found?.index ?? (isOpen ? open : rest.length);
    const text = rest.slice(0, length);
    rest = rest.slice(length);
    body += text;
    if (calledTool() === undefined) say(text, pieces);
    if (found === null) return false;
    conclude(pieces);
    rest = rest.replace(/^<\|(?:end|return|call)\|>\s*/, '');
    return rest !== '';
  }

  function say(text: string, pieces: Piece[]): void {
    if (text === '') return;
    const isThought = /analysis/.test(header ?? '');
    // A call that the model goes on behind is only quoted.
    if (!isThought && text.trim() !== '') calls = [];
    pieces.push({ type: isThought ? 'reasoning' : 'text', text });
  }

  function conclude(pieces: Piece[]): void {
    const name = calledTool();
    const addressed = header?.slice(header.indexOf('to='));
    header = undefined;
    if (name === undefined) return;
    const call = { name, input: body.trim(), written: `${addressed}${body}` };
    if (offered.has(name) && !isQuoted(call)) calls.push({ type: 'call', call });
    else pieces.push({ type: 'reasoning', text: body });
  }

  function calledTool(): string | undefined {
    return /to=(?:functions\.)?([\w.-]+)/.exec(header ?? '')?.[1];
  }

  return { push, end };
}
