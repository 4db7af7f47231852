import type { Quantity } from './arithmetic.ts';
import { CalculationError } from './calculation-error.ts';

export type Token = { type: 'number'; value: Quantity } | { type: 'sign'; text: string } | { type: 'end' };

const LONGEST_EXPRESSION = 1000;
const BLANK = /\s+/y;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGN = /\*\*|\/\/|[+\-*/%()]/y;
const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;

/** Cuts an expression into numbers and signs; refuses what is neither. */
export function tokensOf(expression: string): Token[] {
  if (expression.length > LONGEST_EXPRESSION)
    throw new CalculationError(`the expression is longer than ${LONGEST_EXPRESSION} characters`);
  const tokens: Token[] = [];
  let at = 0;
  while (at < expression.length) {
    const { token, end } = tokenAt(expression, at);
    if (token !== undefined) tokens.push(token);
    at = end;
  }
  return [...tokens, { type: 'end' }];
}

function tokenAt(expression: string, at: number): { token?: Token; end: number } {
  const blank = match(BLANK, expression, at);
  if (blank !== undefined) return { end: at + blank.length };
  const number = match(NUMBER, expression, at);
  if (number !== undefined)
    return { token: { type: 'number', value: quantityOf(number) }, end: at + number.length };
  const sign = match(SIGN, expression, at);
  if (sign !== undefined) return { token: { type: 'sign', text: sign }, end: at + sign.length };
  throw refusal(expression, at);
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Whole numbers stay exact; others are floating point. */
function quantityOf(text: string): Quantity {
  if (/^\d+$/.test(text)) return BigInt(text);
  const value = Number(text);
  if (!Number.isFinite(value)) throw new CalculationError(`the number ${text} is too large`);
  return value;
}

function refusal(expression: string, at: number): CalculationError {
  const name = match(NAME, expression, at);
  if (name !== undefined)
    return new CalculationError(`'${name}' is a name, and only numbers and + - * / // % ** ( ) are allowed`);
  const character = String.fromCodePoint(expression.codePointAt(at) ?? 0);
  return new CalculationError(`unexpected '${character}' at position ${at + 1}`);
}
