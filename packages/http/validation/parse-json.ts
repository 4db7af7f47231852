/** Far deeper than what people and programs write; what walks a value by calling itself fails at some thousands. */
const DEEPEST = 256;

const QUOTE = 34;
const BACKSLASH = 92;

/** JSON that a stranger sent; throws a SyntaxError for what is malformed, and for what is nested deeper than any use. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new SyntaxError(`it is nested deeper than ${DEEPEST} levels`);
  return JSON.parse(text);
}

function isTooDeep(text: string): boolean {
  // A text that short cannot.
  if (text.length <= DEEPEST) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index + 1);
    else if (isOpening(code)) depth += 1;
    else if (isClosing(code)) depth -= 1;
    if (depth > DEEPEST) return true;
  }
  return false;
}

function isOpening(code: number): boolean {
  return code === 91 || code === 123;
}

function isClosing(code: number): boolean {
  return code === 93 || code === 125;
}

/** Where the quote stands that ends the string. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}
