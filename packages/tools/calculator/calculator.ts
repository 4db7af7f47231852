import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import { failure } from '../failure.ts';

const LONGEST_EXPRESSION = 1000;

const BLANK = /\s+/y;

const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;

const SIGN = /\*\*|\/\/|[+\-*/%()]/y;

const NAME = /[\p{L}_][\p{L}\p{N}_]*/uy;

const DEEPEST = 100;

const SUM = new Set(['+', '-']);

const PRODUCT = new Set(['*', '/', '//', '%']);

const input = z.object({
  expression: z.string().describe('Arithmetic with + - * / // % ** and parentheses, such as (2 + 3) * 4.'),
});

/** Evaluates pure arithmetic; names, calls and anything else are refused. */
export function createCalculator(): Tool {
  return defineTool({
    name: 'calculator',
    effects: ['reads'],
    description:
      'Evaluates arithmetic: + - * / // (floor division) % (modulo) ** (power), unary minus and parentheses.',
    input,
    async execute({ expression }) {
      try {
        return `${expression} = ${String(evaluate(expression))}`;
      } catch (error) {
        if (error instanceof CalculationError) return failure(error);
        throw error;
      }
    },
  });
}

/** The value of an arithmetic expression; throws a CalculationError when it has none. */
export function evaluate(expression: string): Quantity {
  const reader = new Reader(tokensOf(expression));
  const value = sum(reader);
  reader.expectEnd();
  return value;
}

function sum(reader: Reader): Quantity {
  return leftToRight(reader, SUM, product);
}

function product(reader: Reader): Quantity {
  return leftToRight(reader, PRODUCT, signed);
}

function leftToRight(reader: Reader, signs: Set<string>, operand: (reader: Reader) => Quantity): Quantity {
  let value = operand(reader);
  for (let sign = reader.take(signs); sign !== undefined; sign = reader.take(signs)) {
    const operation = operations[sign];
    if (operation === undefined) throw new CalculationError(`'${sign}' is not an operation`);
    value = operation(value, operand(reader));
  }
  return value;
}

/** A minus binds weaker than the power to its right: -2 ** 2 is -4. */
function signed(reader: Reader): Quantity {
  const sign = reader.take(SUM);
  if (sign === undefined) return powers(reader);
  return reader.nested(() => (sign === '-' ? negate(signed(reader)) : signed(reader)));
}

/** Groups to the right, and the exponent may have a sign: 2 ** -1 and 2 ** 3 ** 2. */
function powers(reader: Reader): Quantity {
  const base = atom(reader);
  if (reader.take(new Set(['**'])) === undefined) return base;
  return power(
    base,
    reader.nested(() => signed(reader)),
  );
}

function atom(reader: Reader): Quantity {
  const token = reader.next();
  if (token.type === 'number') return token.value;
  if (token.type === 'sign' && token.text === '(') return reader.nested(() => inParentheses(reader));
  throw unexpected(token);
}

function inParentheses(reader: Reader): Quantity {
  const value = sum(reader);
  if (reader.take(new Set([')'])) === undefined) throw new CalculationError("a ')' is missing");
  return value;
}

/** Goes through the tokens and counts how deep the expression is nested. */
class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  next(): Token {
    const token = this.#tokens[this.#at] ?? { type: 'end' };
    this.#at += 1;
    return token;
  }

  /** The sign that comes next, if it is one of these. */
  take(signs: ReadonlySet<string>): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.type !== 'sign' || !signs.has(token.text)) return undefined;
    this.#at += 1;
    return token.text;
  }

  nested(work: () => Quantity): Quantity {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new CalculationError(`the expression is nested deeper than ${DEEPEST}`);
    const value = work();
    this.#depth -= 1;
    return value;
  }

  expectEnd(): void {
    const token = this.next();
    if (token.type !== 'end') throw unexpected(token);
  }
}

function unexpected(token: Token): CalculationError {
  if (token.type === 'end') return new CalculationError('the expression ends too early');
  return new CalculationError(`unexpected ${token.type === 'sign' ? `'${token.text}'` : 'number'}`);
}

type Token = { type: 'number'; value: Quantity } | { type: 'sign'; text: string } | { type: 'end' };

/** Cuts an expression into numbers and signs; refuses what is neither. */
function tokensOf(expression: string): Token[] {
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

/** Whole numbers are exact, others are floating point. */
type Quantity = bigint | number;

type Operation = (left: Quantity, right: Quantity) => Quantity;

/** Exact results beyond this many bits (about 1200 digits) are refused: they help nobody and cost time. */
const MOST_BITS = 4096;

const operations: Readonly<Record<string, Operation>> = {
  '+': (left, right) => whole(left, right, (a, b) => a + b) ?? float(Number(left) + Number(right)),
  '-': (left, right) => whole(left, right, (a, b) => a - b) ?? float(Number(left) - Number(right)),
  '*': (left, right) => whole(left, right, (a, b) => a * b) ?? float(Number(left) * Number(right)),
  '/': divide,
  '//': floorDivide,
  '%': modulo,
};

function negate(value: Quantity): Quantity {
  return -value;
}

function divide(left: Quantity, right: Quantity): Quantity {
  refuseZero(right);
  const exact = whole(left, right, (a, b) => (a % b === 0n ? a / b : undefined));
  return exact ?? float(Number(left) / Number(right));
}

/** Rounds down, also below zero: -7 // 2 is -4. */
function floorDivide(left: Quantity, right: Quantity): Quantity {
  refuseZero(right);
  const exact = whole(left, right, (a, b) => (a - wholeModulo(a, b)) / b);
  if (exact !== undefined) return exact;
  const [a, b] = [Number(left), Number(right)];
  const quotient = (a - floatModulo(a, b)) / b;
  const floor = Math.floor(quotient);
  return float(quotient - floor > 0.5 ? floor + 1 : floor);
}

/** Takes the sign of the divisor: -7 % 3 is 2. */
function modulo(left: Quantity, right: Quantity): Quantity {
  refuseZero(right);
  return whole(left, right, wholeModulo) ?? float(floatModulo(Number(left), Number(right)));
}

function power(base: Quantity, exponent: Quantity): Quantity {
  if (exponent < 0) refuseZero(base);
  if (typeof base === 'bigint' && typeof exponent === 'bigint' && exponent >= 0n)
    return wholePower(base, exponent);
  const result = Number(base) ** Number(exponent);
  if (Number.isNaN(result)) throw new CalculationError('a root of a negative number is not a real number');
  return float(result);
}

function wholePower(base: bigint, exponent: bigint): bigint {
  const bits = BigInt(bitsOf(base));
  if (bits > 1n && (bits - 1n) * exponent > BigInt(MOST_BITS)) throw tooLarge();
  return bounded(base ** (bits > 1n ? exponent : smallPower(exponent)));
}

/** For -1, 0 and 1 only zero, odd and even make a difference. */
function smallPower(exponent: bigint): bigint {
  return exponent === 0n ? 0n : 2n - (exponent % 2n);
}

/** The result over whole numbers, or undefined when one of them is not. */
function whole(
  left: Quantity,
  right: Quantity,
  work: (a: bigint, b: bigint) => bigint | undefined,
): bigint | undefined {
  if (typeof left !== 'bigint' || typeof right !== 'bigint') return undefined;
  const result = work(left, right);
  return result === undefined ? undefined : bounded(result);
}

function wholeModulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function floatModulo(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

function bounded(value: bigint): bigint {
  if (bitsOf(value) > MOST_BITS) throw tooLarge();
  return value;
}

function float(value: number): number {
  if (!Number.isFinite(value)) throw tooLarge();
  return value;
}

function bitsOf(value: bigint): number {
  return value.toString(16).replace('-', '').length * 4 - leadingZeroBits(value);
}

/** Of the first hexadecimal digit. */
function leadingZeroBits(value: bigint): number {
  const digit = Number.parseInt(value.toString(16).replace('-', '').charAt(0), 16);
  return Math.clz32(digit) - 28;
}

function refuseZero(value: Quantity): void {
  if (Number(value) === 0) throw new CalculationError('division by zero');
}

function tooLarge(): CalculationError {
  return new CalculationError('the result is too large');
}

/** Why an expression has no value. */
class CalculationError extends Error {
  override readonly name = 'CalculationError';
}
