/** Several values in one place; a class of its own, so that a value may itself be an array. */
export class Several<Value> {
  readonly list: Value[];

  constructor(first: Value, second: Value) {
    this.list = [first, second];
  }
}

/** The values of one pattern; a single one, which is the common case, stands there without a list. */
export type Slot<Value> = Value | Several<Value> | undefined;

export function withValue<Value>(slot: Slot<Value>, value: Value): Value | Several<Value> {
  if (slot === undefined) return value;
  if (!(slot instanceof Several)) return new Several(slot, value);
  slot.list.push(value);
  return slot;
}

/** The slot without one such value; undefined when none is left. */
export function withoutValue<Value>(slot: Slot<Value>, value: Value): Slot<Value> {
  if (!(slot instanceof Several)) return undefined;
  slot.list.splice(slot.list.indexOf(value), 1);
  return slot.list.length === 1 ? slot.list[0] : slot;
}

export function holdsValue<Value>(slot: Slot<Value>, value: Value): boolean {
  return slot instanceof Several ? slot.list.includes(value) : slot === value;
}

export function collectValues<Value>(slot: Slot<Value>, found: Value[]): void {
  if (slot === undefined) return;
  if (!(slot instanceof Several)) found.push(slot);
  else for (const value of slot.list) found.push(value);
}
