import { negate, operations, power, type Quantity } from './arithmetic.ts';
import { CalculationError } from './calculation-error.ts';
import { type Token, tokensOf } from './tokens.ts';

const DEEPEST = 100;
const SUM = new Set(['+', '-']);
const PRODUCT = new Set(['*', '/', '//', '%']);

/** The value of an arithmetic expression; throws words when it has none. */
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
