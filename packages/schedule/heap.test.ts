import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Due, DueHeap } from './entry.ts';

interface Model {
  items: Due[];
  /** Also those that are gone: no two items have one number. */
  placed: number;
}
type Real = DueHeap<Due>;

const sorted = (items: Due[]) =>
  items.toSorted((one, other) => one.dueAt - other.dueAt || one.order - other.order);

class Place implements fc.Command<Model, Real> {
  readonly dueAt: number;
  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }
  check = () => true;
  run(model: Model, heap: Real): void {
    const item = { dueAt: this.dueAt, order: model.placed, heapIndex: -1 };
    model.placed += 1;
    model.items.push(item);
    heap.place(item);
    expectTop(model, heap);
  }
  toString = () => `place ${this.dueAt}`;
}

class Move implements fc.Command<Model, Real> {
  readonly which: number;
  readonly dueAt: number;
  constructor(which: number, dueAt: number) {
    this.which = which;
    this.dueAt = dueAt;
  }
  check = (model: Model) => model.items.length > 0;
  run(model: Model, heap: Real): void {
    const item = model.items[this.which % model.items.length]!;
    item.dueAt = this.dueAt;
    heap.place(item);
    expectTop(model, heap);
  }
  toString = () => `move ${this.which} to ${this.dueAt}`;
}

class Remove implements fc.Command<Model, Real> {
  readonly which: number;
  constructor(which: number) {
    this.which = which;
  }
  check = (model: Model) => model.items.length > 0;
  run(model: Model, heap: Real): void {
    const [item] = model.items.splice(this.which % model.items.length, 1);
    heap.remove(item!);
    heap.remove(item!);
    expect(item!.heapIndex).toBe(-1);
    expectTop(model, heap);
  }
  toString = () => `remove ${this.which}`;
}

function expectTop(model: Model, heap: Real): void {
  expect(heap.size).toBe(model.items.length);
  expect(heap.peek()).toBe(sorted(model.items)[0]);
}

describe('DueHeap', () => {
  it('has the first item on top whatever is put in, moved and taken out', () => {
    const time = fc.integer({ min: 0, max: 50 });
    const commands = [
      time.map((dueAt) => new Place(dueAt)),
      fc.tuple(fc.nat(), time).map(([which, dueAt]) => new Move(which, dueAt)),
      fc.nat().map((which) => new Remove(which)),
    ];
    fc.assert(
      fc.property(fc.commands(commands, { maxCommands: 100 }), (run) => {
        fc.modelRun(() => ({ model: { items: [], placed: 0 }, real: new DueHeap<Due>() }), run);
      }),
    );
  });

  it('gives items in order of time, and equal ones in order of number', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 200 }), (times) => {
        const items = times.map((dueAt, order) => ({ dueAt, order, heapIndex: -1 }));
        const heap = new DueHeap<Due>();
        for (const item of items) heap.place(item);
        const taken: Due[] = [];
        for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
          heap.remove(top);
          taken.push(top);
        }
        expect(taken).toEqual(sorted(items));
      }),
    );
  });
});
