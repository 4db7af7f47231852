const CONTROLS =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  );

/**
 * Control characters, characters of no width, those that turn the direction of writing round, and spaces that are
 * none of the keyboard's: whatever a person does not see, or sees elsewhere than it stands. The marks around names
 * too, so that no text can pass for one.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}‹›]|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|\u2800/gu;

const LONG_SPACE = / {8,}| +$/g;

const longestLanguage = 40;

/** What Discord takes. */
const LONGEST_MESSAGE = 2000;

/**
 * Cuts a message for a chat platform: at the ends of lines, and inside a line only when it alone is too long.
 * A block of code that goes on in the next part is closed at the end of one and opened again in the other.
 */
export function splitMessage(content: string, most = LONGEST_MESSAGE): string[] {
  const parts = new Parts(most);
  for (const line of content.split('\n')) parts.add(line);
  return parts.end();
}

class Parts {
  readonly #most: number;
  readonly #done: string[] = [];
  #lines: string[] = [];
  /** Of the lines, with their ends. */
  #length = 0;
  /** The block of code that is open behind the lines. */
  #fence: Fence | undefined;
  /** Nothing stands in it yet. */
  #isBare = false;

  constructor(most: number) {
    this.#most = most;
  }

  add(line: string): void {
    const fence = fenceAfter(this.#fence, line);
    for (const piece of cutLine(line, this.#room())) {
      if (this.#length + piece.length + closing(fence) > this.#most) this.#flush();
      if (this.#lines.length > 0 || piece !== '') this.#put(piece);
    }
    this.#isBare = fence !== undefined && this.#fence === undefined;
    this.#fence = fence;
  }

  end(): string[] {
    this.#done.push(this.#lines.join('\n'));
    return this.#done.filter((part) => part.trim() !== '');
  }

  #put(line: string): void {
    this.#lines.push(line);
    this.#length += line.length + 1;
    this.#isBare = false;
  }

  #flush(): void {
    if (this.#isBare && this.#lines.length === 1) return;
    this.#close();
    this.#lines = [];
    this.#length = 0;
    if (this.#fence === undefined) return;
    this.#put(this.#fence.opening);
    this.#isBare = true;
  }

  /** An opening with nothing behind it belongs to the next part alone. */
  #close(): void {
    const lines = this.#isBare ? this.#lines.slice(0, -1) : this.#lines;
    const end = this.#fence === undefined || this.#isBare ? [] : [this.#fence.mark];
    this.#done.push([...lines, ...end].join('\n'));
  }

  /** For one line in a part of its own. */
  #room(): number {
    const opening = this.#fence === undefined ? 0 : this.#fence.opening.length + 1;
    return Math.max(1, this.#most - opening - closing(this.#fence));
  }
}

function closing(fence: Fence | undefined): number {
  return fence === undefined ? 0 : fence.mark.length + 1;
}

/** Between signs as people see them: never through an emoji that is made of several. */
function cutLine(line: string, most: number): string[] {
  if (line.length <= most) return [line];
  const pieces: string[] = [];
  let piece = '';
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    for (const sign of segment.length <= most ? [segment] : segment) {
      if (piece.length + sign.length > most) {
        pieces.push(piece);
        piece = '';
      }
      piece += sign;
    }
  }
  return [...pieces, piece];
}

/** A block of code that is open. */
interface Fence {
  /** What closes it. */
  mark: string;
  /** What opens it again, with the language that it named. */
  opening: string;
}

/** Which block of code is open behind a line, by the rules of Markdown. */
function fenceAfter(open: Fence | undefined, line: string): Fence | undefined {
  const [, mark = '', rest = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (open !== undefined) return closes(open, mark, rest) ? undefined : open;
  if (mark === '' || (mark.startsWith('`') && rest.includes('`'))) return undefined;
  const [language = ''] = rest.trim().split(/\s/);
  return { mark, opening: language.length > longestLanguage ? mark : `${mark}${language}` };
}

function closes({ mark }: Fence, found: string, rest: string): boolean {
  return found.startsWith(mark) && rest.trim() === '';
}

/** A line with everything in it made visible: `‹ESC›`, `‹U+202E›`, `‹300 spaces›`. */
export function visibleLine(line: string): string {
  return line.replace(HIDDEN, nameOf).replace(LONG_SPACE, ({ length }) => `‹${counted(length, 'space')}›`);
}

/** A text as lines with their numbers; lines with nothing in them are counted in one, so that they hide nothing. */
export function visibleText(text: string): string {
  const lines = text.split('\n');
  if (lines.length === 1) return visibleLine(text);
  const width = String(lines.length).length;
  const shown: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const from = at;
    while (at < lines.length && isBlank(lines[at])) at += 1;
    if (at > from) shown.push(blankLines(from + 1, at, width));
    const line = lines[at];
    if (line !== undefined) shown.push(`${String(at + 1).padStart(width)} │ ${visibleLine(line)}`);
  }
  return shown.join('\n');
}

/** "3 lines, 120 characters". */
export function textSize(text: string): string {
  const lines = text.split('\n').length;
  return `${counted(lines, 'line')}, ${counted([...text].length, 'character')}`;
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && /^[ \t\r]*$/.test(line);
}

function blankLines(from: number, to: number, width: number): string {
  const words = from === to ? `line ${from} is blank` : `lines ${from} to ${to} are blank`;
  return `${' '.repeat(width)} ┆ ${words}`;
}

function nameOf(sign: string): string {
  const code = sign.codePointAt(0) ?? 0;
  const name = code === 0x7f ? 'DEL' : CONTROLS[code];
  return `‹${name ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}›`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/**
 * What an answer links to, on surfaces that draw Markdown themselves. A model may have been told to put what it knows
 * into an address: a picture or a preview that the surface fetches by itself would carry it out, and a label hides where
 * a link leads.
 */

const CODE = /(```[\s\S]*?```|`[^`\n]*`)/;
const LINK =
  /!?\[([^\]\n]{0,500})\]\(\s*<?(https?:\/\/(?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+"[^"\n]*")?\s*\)/gi;

/** For chat platforms: every link shows its address, which `<…>` keeps from being previewed. Code stays as it is. */
export function visibleLinks(markdown: string): string {
  return markdown
    .split(CODE)
    .map((piece, index) => (index % 2 === 1 ? piece : piece.replace(LINK, shown)))
    .join('');
}

function shown(_: string, label: string, url: string): string {
  const words = label.trim();
  return words === '' || words === url ? `<${url}>` : `${words} (<${url}>)`;
}

const DEFINITION = /^ {0,3}\[[^\]\n]{1,999}\]:/m;
const DRAWN = /<(?=\/?(?:img|image|picture|source|video|audio|track|svg|iframe|object|embed|link|input)\b)/gi;

/** For code hosts and trackers: what would be a picture is a link, and HTML that fetches something is text. */
export function withoutPictures(markdown: string): string {
  const end = DEFINITION.test(markdown)
    ? markdown.length
    : Math.max(markdown.lastIndexOf(']('), markdown.lastIndexOf(']['));
  return markdown
    .replace(/!(?=\[)/g, (mark, at: number) => (at < end ? `\\${mark}` : mark))
    .replace(DRAWN, '&lt;');
}
