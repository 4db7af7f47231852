import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createCalculator, evaluate } from './calculator.ts';

const calculate = (expression: string) => callTool(createCalculator(), { expression });

describe('calculator', () => {
  it.each([
    ['2 + 3 * 4', '14'],
    ['(2 + 3) * 4', '20'],
    ['-2 ** 2', '-4'],
    ['(-2) ** 2', '4'],
    ['2 ** 3 ** 2', '512'],
    ['2 ** -1', '0.5'],
    ['2 ** -2 ** 1', '0.25'],
    ['-7 // 2', '-4'],
    ['7 // -2', '-4'],
    ['-7 % 3', '2'],
    ['7 % -3', '-2'],
    ['-7.5 % 2', '0.5'],
    ['-7.5 // 2', '-4'],
    ['7.5 // -2', '-4'],
    ['5.5 % -2', '-0.5'],
    ['1 - 2 - 3', '-4'],
    ['100 / 10 / 5', '2'],
    ['7 / 2', '3.5'],
    ['1 // 0.1', '9'],
    ['--3', '3'],
    ['+3', '3'],
    ['2 - -3', '5'],
    ['.5 + 1.', '1.5'],
    ['1e3 + 2E-1', '1000.2'],
    ['2 ** 100', '1267650600228229401496703205376'],
    ['10 ** 30 / 10 ** 10', '100000000000000000000'],
    ['(0 - 1) ** 99999999999999999999', '-1'],
    ['0 ** 0', '1'],
    ['4 ** 0.5', '2'],
    ['0.1 + 0.2', '0.30000000000000004'],
  ])('gives %s = %s [A072]', async (expression, result) => {
    expect(await calculate(expression)).toBe(`${expression} = ${result}`);
  });

  it.each(['1 / 0', '1 // 0', '1 % 0', '1.5 / 0.0', '1 % 0.0', '0 ** -1', '3 / (2 - 2)'])(
    'refuses %s [A072]',
    async (expression) => {
      expect(await calculate(expression)).toBe('Error: division by zero');
    },
  );

  it.each([
    'abs(1)',
    'x',
    'math.pi',
    '(1).real',
    '1 .real',
    '__import__("os")',
    'process.exit()',
    'Infinity',
    'NaN',
    'π',
    '1 if 1 else 2',
    '[1][0]',
    '"a"',
    '1; 2',
    '1 = 1',
    '1 & 1',
    '2 ^ 3',
    '1, 2',
    '`1`',
    '1n',
    '0x10',
    '１ + 1',
  ])('refuses %s, which is not arithmetic [A072]', async (expression) => {
    expect(await calculate(expression)).toMatch(/^Error: /);
  });

  it.each(['', '   ', '1 +', '* 1', '(1', '1)', '()', '1 2', '1 // / 2', '2 ** * 3'])(
    'refuses the malformed "%s"',
    async (expression) => {
      expect(await calculate(expression)).toMatch(/^Error: /);
    },
  );

  it.each([
    ['9 ** 9 ** 9 ** 9', 'too large'],
    ['10 ** 100000', 'too large'],
    ['9.9 ** 99999', 'too large'],
    ['1e308 * 10', 'too large'],
    ['1e999', 'too large'],
    ['(10 ** 1000) * (10 ** 1000)', 'too large'],
    ['10 ** 400 * 1.5', 'too large'],
    ['(0 - 8) ** 0.5', 'not a real number'],
  ])('bounds %s', async (expression, words) => {
    expect(await calculate(expression)).toMatch(new RegExp(`^Error: .*${words}`));
  });

  it.each([
    ['parentheses', `${'('.repeat(400)}1${')'.repeat(400)}`, 'nested deeper'],
    ['signs', `${'-'.repeat(900)}1`, 'nested deeper'],
    ['powers', '2 ** '.repeat(150).concat('1'), 'nested deeper'],
    ['terms', '1+'.repeat(50_000).concat('1'), 'longer than'],
  ])('bounds an expression of too many %s', async (_kind, expression, words) => {
    expect(await calculate(expression)).toMatch(new RegExp(`^Error: .*${words}`));
  });
});

/** A tree that knows its own value and how to write itself with no more parentheses than it needs. */
interface Tree<Value> {
  text: string;
  rank: number;
  /** Undefined where there is no value, as after a division by zero. */
  value: Value | undefined;
}

type Operations<Value> = Record<string, (left: Value, right: Value) => Value | undefined>;

const floorDivide = (a: bigint, b: bigint) => a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n);

const whole: Operations<bigint> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': (a, b) => (b === 0n ? undefined : floorDivide(a, b)),
  '%': (a, b) => (b === 0n ? undefined : a - floorDivide(a, b) * b),
  '**': (a, b) => (b < 0n || b > 6n ? undefined : a ** b),
};

const floating: Operations<number> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => (b === 0 ? undefined : a / b),
};

const ranks: Record<string, number> = { '+': 1, '-': 1, '*': 2, '/': 2, '//': 2, '%': 2, '**': 4 };

function trees<Value extends bigint | number>(
  leaf: fc.Arbitrary<Tree<Value>>,
  operations: Operations<Value>,
) {
  const { tree } = fc.letrec<{ tree: Tree<Value> }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      leaf,
      tie('tree').map((inner): Tree<Value> => ({ ...prefixed(inner), value: negated(inner.value) })),
      fc
        .tuple(tie('tree'), fc.constantFrom(...Object.keys(operations)), tie('tree'))
        .map(([left, sign, right]) => joined(left, sign, right, operations)),
    ),
  }));
  return tree.filter(({ text, value }) => value !== undefined && text.length < 900);
}

function joined<Value>(left: Tree<Value>, sign: string, right: Tree<Value>, operations: Operations<Value>) {
  const rank = ranks[sign]!;
  const toTheRight = sign === '**';
  const text = `${within(left, toTheRight ? 5 : rank)} ${sign} ${within(right, toTheRight ? 3 : rank + 1)}`;
  const known = left.value !== undefined && right.value !== undefined;
  return { text, rank, value: known ? operations[sign]!(left.value!, right.value!) : undefined };
}

function prefixed<Value>(inner: Tree<Value>) {
  return { text: `-${within(inner, 3)}`, rank: 3 };
}

function negated<Value extends bigint | number>(value: Value | undefined): Value | undefined {
  return value === undefined ? undefined : (-value as Value);
}

function within(tree: { text: string; rank: number }, rank: number): string {
  return tree.rank < rank ? `(${tree.text})` : tree.text;
}

const wholeLeaf = fc
  .integer({ min: 0, max: 12 })
  .map((value) => ({ text: `${value}`, rank: 5, value: BigInt(value) }));
const floatingLeaf = fc
  .integer({ min: 1, max: 999 })
  .map((value) => ({ text: (value / 8).toFixed(3), rank: 5, value: Number((value / 8).toFixed(3)) }));

it('is exact on random whole-number expressions [A072]', () => {
  fc.assert(
    fc.property(trees(wholeLeaf, whole), ({ text, value }) => {
      fc.pre(value !== undefined && value < 10n ** 300n && value > -(10n ** 300n));
      expect(evaluate(text)).toBe(value);
    }),
    { numRuns: 800 },
  );
});

it('agrees with floating point on random fractions [A072]', () => {
  fc.assert(
    fc.property(trees(floatingLeaf, floating), ({ text, value }) => {
      fc.pre(Number.isFinite(value));
      expect(evaluate(text)).toBe(value);
    }),
    { numRuns: 800 },
  );
});
