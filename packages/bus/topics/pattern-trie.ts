/** One step of the trie, reached by its literal segment or by `*`. */
class Step<Value> {
  readonly literal: string;
  /** The only child, or all children by their literals: most steps have one, and a map for each would cost much memory. */
  children: Step<Value> | Map<string, Step<Value>> | undefined = undefined;
  star: Step<Value> | undefined = undefined;
  /** Values of the pattern that ends here. */
  here: Slot<Value> = undefined;
  /** Values of the pattern that goes on with `#`. */
  below: Slot<Value> = undefined;

  constructor(literal: string) {
    this.literal = literal;
  }
}

/** The patterns with wildcards, each with its values. */
export class PatternTrie<Value> {
  readonly #root = new Step<Value>('');

  add(pattern: string, value: Value): void {
    const { segments, slot } = pathOf(pattern);
    let step = this.#root;
    for (const segment of segments) step = childOf(step, segment) ?? addChild(step, segment);
    step[slot] = withValue(step[slot], value);
  }

  /** False when the pattern has no such value. */
  remove(pattern: string, value: Value): boolean {
    const { segments, slot } = pathOf(pattern);
    const path = [this.#root];
    let step: Step<Value> | undefined = this.#root;
    for (const segment of segments) {
      step = childOf(step, segment);
      if (step === undefined) return false;
      path.push(step);
    }
    if (!holdsValue(step[slot], value)) return false;
    step[slot] = withoutValue(step[slot], value);
    prune(path);
    return true;
  }

  match(topic: string, found: Value[]): void {
    walk(this.#root, topic.split('.'), 0, found);
  }
}

function pathOf(pattern: string): { segments: string[]; slot: 'here' | 'below' } {
  const segments = pattern.split('.');
  if (segments[segments.length - 1] !== '#') return { segments, slot: 'here' };
  segments.pop();
  return { segments, slot: 'below' };
}

/** Follows `*` and the literal segment from each step; `#` of a step matches whatever is left. */
function walk<Value>(step: Step<Value>, topic: readonly string[], depth: number, found: Value[]): void {
  collectValues(step.below, found);
  const segment = topic[depth];
  if (segment === undefined) {
    collectValues(step.here, found);
    return;
  }
  if (step.star !== undefined) walk(step.star, topic, depth + 1, found);
  const child = literalChild(step, segment);
  if (child !== undefined) walk(child, topic, depth + 1, found);
}

function childOf<Value>(step: Step<Value>, segment: string): Step<Value> | undefined {
  return segment === '*' ? step.star : literalChild(step, segment);
}

function literalChild<Value>({ children }: Step<Value>, segment: string): Step<Value> | undefined {
  if (children instanceof Map) return children.get(segment);
  return children?.literal === segment ? children : undefined;
}

function addChild<Value>(step: Step<Value>, segment: string): Step<Value> {
  const made = new Step<Value>(segment);
  const { children } = step;
  if (segment === '*') step.star = made;
  else if (children === undefined) step.children = made;
  else if (children instanceof Map) children.set(segment, made);
  else step.children = new Map([children, made].map((child) => [child.literal, child]));
  return made;
}

/** Takes away the steps at the end of the path that hold nothing any more. */
function prune<Value>(path: readonly Step<Value>[]): void {
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const step = path[depth];
    const parent = path[depth - 1];
    if (step === undefined || parent === undefined || !isEmpty(step)) return;
    if (parent.star === step) parent.star = undefined;
    else if (!(parent.children instanceof Map)) parent.children = undefined;
    else if (parent.children.size > 1) parent.children.delete(step.literal);
    else parent.children = undefined;
  }
}

function isEmpty<Value>({ children, star, here, below }: Step<Value>): boolean {
  return children === undefined && star === undefined && here === undefined && below === undefined;
}

/** Several values in one place; a class of its own, so that a value may itself be an array. */
class Several<Value> {
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
