/** The zeros of the scripts that have digits of their own. */
const ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50,
  0x0ed0, 0x0f20, 0x1040, 0x17e0, 0x1810, 0xff10,
];

const IDEOGRAPHS = '〇一二三四五六七八九';
const UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };

export function isNumber(text: string): boolean {
  return /^\p{Nd}/u.test(text) || /^[〇零一二三四五六七八九十百千]{2,}$/.test(text);
}

/** The numbers that a written one may mean: the English reading first, then the one of languages with a decimal comma. */
export function readingsOf(written: string): number[] {
  if (!/^\p{Nd}/u.test(written)) return [ideographic(written)];
  const text = written
    .replace(/\p{Nd}/gu, asciiDigit)
    .replaceAll('٫', '.')
    .replace(/['’\s٬]/g, '');
  // Spaces may group digits, or stand between two numbers.
  if (/ /.test(written)) return [...readingsOf(text), ...written.split(' ').flatMap(readingsOf)];
  const marks = text.match(/[.,]/g) ?? [];
  const last = text.slice(Math.max(text.lastIndexOf('.'), text.lastIndexOf(',')) + 1);
  const whole = Number(text.replace(/[.,]/g, ''));
  if (marks.length === 0) return [whole];
  const decimal = whole / 10 ** last.length;
  if (new Set(marks).size > 1) return [decimal];
  if (marks.length > 1) return [whole];
  // One mark: before three digits it may stand for thousands.
  if (last.length !== 3) return [decimal];
  return marks[0] === ',' ? [whole, decimal] : [decimal, whole];
}

function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  const zero = ZEROS.find((each) => code >= each && code < each + 10);
  return zero === undefined ? digit : String(code - zero);
}

/** "二〇〇八" digit by digit, or "二千零八" with its units. */
function ideographic(text: string): number {
  const digits = [...text.replaceAll('零', '〇')];
  if (!digits.some((digit) => digit in UNITS))
    return Number(digits.map((digit) => IDEOGRAPHS.indexOf(digit)).join(''));
  let [sum, digit] = [0, 0];
  for (const sign of digits) {
    const unit = UNITS[sign];
    if (unit === undefined) digit = IDEOGRAPHS.indexOf(sign);
    else {
      sum += (digit || 1) * unit;
      digit = 0;
    }
  }
  return sum + digit;
}
