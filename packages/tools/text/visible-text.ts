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
