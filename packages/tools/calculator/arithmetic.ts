/** Whole numbers are exact, others are floating point. */
export type Quantity = bigint | number;

export type Operation = (left: Quantity, right: Quantity) => Quantity;

/** Exact results beyond this many bits (about 1200 digits) are refused: they help nobody and cost time. */
const MOST_BITS = 4096;

export const operations: Readonly<Record<string, Operation>> = {
  '+': (left, right) => whole(left, right, (a, b) => a + b) ?? float(Number(left) + Number(right)),
  '-': (left, right) => whole(left, right, (a, b) => a - b) ?? float(Number(left) - Number(right)),
  '*': (left, right) => whole(left, right, (a, b) => a * b) ?? float(Number(left) * Number(right)),
  '/': divide,
  '//': floorDivide,
  '%': modulo,
};

export function negate(value: Quantity): Quantity {
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

export function power(base: Quantity, exponent: Quantity): Quantity {
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
export class CalculationError extends Error {
  override readonly name = 'CalculationError';
}
