// Cuts markdown where blocks end, so that while text streams in only the last block is rendered again.

/** The blocks of a text, in order; joined by empty lines they mean the same as the whole. */
export function markdownBlocks(text: string): string[] {
  // A definition ("[1]: https://...", "[^1]: ...") is used from other blocks: such a text stays whole.
  if (/^ {0,3}\[[^\]\n]+\]:/m.test(text)) return [text];
  const cutter = new Cutter();
  for (const line of text.split('\n')) cutter.take(line);
  return cutter.finish();
}

/** Closes what the stream has opened and not yet closed, so that half-written marks do not flicker. */
export function closeOpenMarks(block: string): string {
  if (/^ {0,3}(```|~~~)/.test(block)) return block;
  const withoutHalfLink = block.replace(/!?\[([^\]\n]*)(\]\([^)\s]*)?$/, '$1');
  return ['`', '**', '~~'].reduce(closeMark, withoutHalfLink);
}

function closeMark(text: string, mark: string): string {
  const trimmed = text.trimEnd();
  const outsideCode = mark === '`' ? trimmed : trimmed.replace(/`[^`\n]*`/g, '');
  if (outsideCode.split(mark).length % 2 === 1) return text;
  return trimmed.endsWith(mark) ? trimmed.slice(0, -mark.length) : trimmed + mark;
}

class Cutter {
  #blocks: string[] = [];
  #lines: string[] = [];
  #fence: string | undefined;

  take(line: string): void {
    if (this.#fence === undefined && this.#startsBlock(line)) this.#cut();
    this.#lines.push(line);
    this.#followFence(line);
  }

  finish(): string[] {
    this.#cut();
    return this.#blocks;
  }

  // A block starts after an empty line, unless the line goes on with a list, a quote or HTML.
  #startsBlock(line: string): boolean {
    if (line.trim() === '' || this.#lines.at(-1)?.trim() !== '') return false;
    const first = this.#lines.find((earlier) => earlier.trim() !== '') ?? '';
    const continues = /^\s/.test(line) || (isListItem(first) && isListItem(line)) || first.startsWith('<');
    return !continues;
  }

  #followFence(line: string): void {
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marks === undefined) return;
    if (this.#fence === undefined) this.#fence = marks;
    else if (marks.startsWith(this.#fence) && line.trim() === marks) this.#fence = undefined;
  }

  #cut(): void {
    const block = this.#lines.join('\n').trimEnd();
    if (block !== '') this.#blocks.push(block);
    this.#lines = [];
  }
}

function isListItem(line: string): boolean {
  return /^ {0,3}([-*+]|\d{1,9}[.)])\s/.test(line);
}
