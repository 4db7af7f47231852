export interface DocumentHandler {
  /** A complete JSON value. */
  document(value: unknown): void;
  /** The mark `[DONE]`. */
  done(): void;
  /** Something that was meant to be a document and is none. */
  unreadable(text: string): void;
}

export interface DocumentReader {
  /** Whether the bytes carry on an unfinished document that is too long for a sign of life. */
  push(bytes: Uint8Array): boolean;
  /** Call it when the body has come to its end in good order. */
  end(): void;
}

const longestDocument = 32 * 1024 * 1024;
const longestStray = 2_000;
const longestSignOfLife = 1024;

/**
 * Reads the JSON documents of a response body in whatever frame they come: server-sent events (any line ends, comments,
 * several data lines, no blank line between events), lines of JSON, or one document over any number of lines.
 */
export function createDocumentReader(on: DocumentHandler): DocumentReader {
  const decoder = new TextDecoder();
  const scanner = new ValueScanner();
  /** The line that is being received, in pieces: each look at a text that grows copies it. */
  let pending: string[] = [];
  let pendingLength = 0;
  let afterReturn = false;
  let eventName = '';
  /** Whether the unfinished value is outside of any event, so that blank lines are part of it. */
  let isBare = false;
  let hasDocument = false;
  let stray = '';

  function takeText(text: string): void {
    let rest = afterReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') afterReturn = text.endsWith('\r');
    if (rest.includes('\r')) rest = rest.replace(/\r\n?/g, '\n');
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      takeLine(takePending(rest.slice(0, end)));
      rest = rest.slice(end + 1);
    }
    if (rest !== '') pending.push(rest);
    pendingLength += rest.length;
    if (pendingLength + scanner.text.length > longestDocument) giveUp();
  }

  function takePending(end = ''): string {
    const line = pending.length === 0 ? end : pending.join('') + end;
    pending = [];
    pendingLength = 0;
    return line;
  }

  function takeLine(line: string): void {
    if (scanner.text !== '' && isBare) takeJson(line, true);
    else if (line === '') endEvent();
    else if (line.startsWith('data:')) takeData(line.slice(5));
    else if (line.trim() === '[DONE]') on.done();
    else if (/^\s*[{[]/.test(line)) takeJson(line, true);
    else if (!line.startsWith(':')) takeField(line);
  }

  function takeField(line: string): void {
    const [, name = '', value = ''] = /^(event|error|id|retry):\s*(.*)$/.exec(line) ?? [];
    if (name === 'event') eventName = value;
    // Older llama.cpp: a field of its own for errors.
    else if (name === 'error') emit({ error: parseOr(value) });
    else if (name === '' && stray.length < longestStray) stray += `${line}\n`;
  }

  function takeData(data: string): void {
    const text = data.trim();
    const isWithin = scanner.text !== '';
    if (text === '[DONE]' && !isWithin) on.done();
    else if (/^[{[]/.test(text) || (isWithin && text !== '')) takeJson(data, false);
    else if (text !== '') takeWord(text);
  }

  /** Data that is no object: an error in plain words, or a sign of life. */
  function takeWord(text: string): void {
    if (eventName === 'error') emit({ error: text });
    else if (/^"?\[?DONE\]?"?$/i.test(text)) on.done();
    else if (!/^(null|"?(ping|keep-?alive)"?)$/i.test(text)) on.unreadable(text);
  }

  function takeJson(text: string, bare: boolean): void {
    const whole = scanner.text === '' ? parse(text) : undefined;
    if (whole !== undefined) {
      emit(whole);
      return;
    }
    isBare = bare;
    for (const value of scanner.feed(`${text}\n`)) {
      const parsed = parse(value);
      if (parsed === undefined) on.unreadable(value);
      else emit(parsed);
    }
  }

  function emit(value: unknown): void {
    hasDocument = true;
    on.document(value);
  }

  function endEvent(): void {
    eventName = '';
    if (scanner.text === '' || isBare) return;
    on.unreadable(scanner.text);
    scanner.reset();
  }

  function unfinishedLength(): number {
    return scanner.text.length + (pending[0]?.startsWith(':') ? 0 : pendingLength);
  }

  function giveUp(): void {
    on.unreadable(takePending().slice(0, longestStray));
    scanner.reset();
  }

  return {
    push(bytes) {
      const before = unfinishedLength();
      takeText(decoder.decode(bytes, { stream: true }));
      return unfinishedLength() > Math.max(before, longestSignOfLife);
    },
    end() {
      takeText(decoder.decode());
      if (pendingLength > 0) takeLine(takePending());
      // Half an event is the mark of a stream that broke off: the answer then lacks its finish reason too.
      if (scanner.text !== '' && isBare) on.unreadable(scanner.text);
      else if (!hasDocument && stray !== '') on.unreadable(stray);
    },
  };
}

/** Finds where JSON values end in text that comes in pieces, without parsing them again and again. */
class ValueScanner {
  text = '';
  #depth = 0;
  #inString = false;
  #escaped = false;

  feed(piece: string): string[] {
    const values: string[] = [];
    let start = 0;
    for (let index = 0; index < piece.length; index += 1) {
      if (!this.#closes(piece.charCodeAt(index))) continue;
      values.push(this.text + piece.slice(start, index + 1));
      this.text = '';
      start = index + 1;
    }
    const rest = piece.slice(start);
    this.text = this.text === '' ? rest.trimStart() : this.text + rest;
    return values;
  }

  reset(): void {
    this.text = '';
    this.#depth = 0;
    this.#inString = false;
    this.#escaped = false;
  }

  #closes(code: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (code === 0x5c) this.#escaped = true;
      else if (code === 0x22) this.#inString = false;
    } else if (code === 0x22) this.#inString = true;
    else if (code === 0x7b || code === 0x5b) this.#depth += 1;
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1;
      return this.#depth === 0;
    }
    return false;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseOr(text: string): unknown {
  return parse(text) ?? text;
}
