import fc from 'fast-check';
import { expect, it } from 'vitest';
import { evaluate } from './calculator.ts';

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
