import { SegmentScan, segmentHash } from './segment-scan.ts';
import { collectValues, holdsValue, type Slot, withoutValue, withValue } from './slot.ts';

/** One step of the trie, reached by its literal segment or by `*`. */
class Step<Value> {
  readonly literal: string;
  /** The only child, or all children by the hash of their literals. */
  children: Step<Value> | Map<number, Step<Value>> | undefined = undefined;
  /** Another child of the same parent with the same hash. */
  twin: Step<Value> | undefined = undefined;
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
  readonly #scan = new SegmentScan();

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
    this.#scan.read(topic);
    walk(this.#root, this.#scan, 0, found);
  }
}

function pathOf(pattern: string): { segments: string[]; slot: 'here' | 'below' } {
  const segments = pattern.split('.');
  if (segments[segments.length - 1] !== '#') return { segments, slot: 'here' };
  segments.pop();
  return { segments, slot: 'below' };
}

/** Follows `*` and the literal segment from each step; `#` of a step matches whatever is left. */
function walk<Value>(step: Step<Value>, scan: SegmentScan, depth: number, found: Value[]): void {
  if (step.below !== undefined) collectValues(step.below, found);
  if (depth === scan.count) {
    if (step.here !== undefined) collectValues(step.here, found);
    return;
  }
  if (step.star !== undefined) walk(step.star, scan, depth + 1, found);
  const child = step.children === undefined ? undefined : scannedChild(step.children, scan, depth);
  if (child !== undefined) walk(child, scan, depth + 1, found);
}

function scannedChild<Value>(
  children: Step<Value> | Map<number, Step<Value>>,
  scan: SegmentScan,
  depth: number,
): Step<Value> | undefined {
  let child = children instanceof Map ? children.get(scan.hash(depth)) : children;
  while (child !== undefined && !scan.equals(depth, child.literal)) child = child.twin;
  return child;
}

function childOf<Value>(step: Step<Value>, segment: string): Step<Value> | undefined {
  if (segment === '*') return step.star;
  const { children } = step;
  let child = children instanceof Map ? children.get(segmentHash(segment)) : children;
  while (child !== undefined && child.literal !== segment) child = child.twin;
  return child;
}

function addChild<Value>(step: Step<Value>, segment: string): Step<Value> {
  const made = new Step<Value>(segment);
  if (segment === '*') step.star = made;
  else if (step.children === undefined) step.children = made;
  else insert(childMap(step, step.children), made);
  return made;
}

function childMap<Value>(
  step: Step<Value>,
  children: Step<Value> | Map<number, Step<Value>>,
): Map<number, Step<Value>> {
  if (children instanceof Map) return children;
  const map = new Map([[segmentHash(children.literal), children]]);
  step.children = map;
  return map;
}

function insert<Value>(children: Map<number, Step<Value>>, child: Step<Value>): void {
  const hash = segmentHash(child.literal);
  child.twin = children.get(hash);
  children.set(hash, child);
}

/** Takes away the steps at the end of the path that hold nothing any more. */
function prune<Value>(path: readonly Step<Value>[]): void {
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const step = path[depth];
    const parent = path[depth - 1];
    if (step === undefined || parent === undefined || !isEmpty(step)) return;
    if (parent.star === step) parent.star = undefined;
    else removeChild(parent, step);
  }
}

function isEmpty<Value>({ children, star, here, below }: Step<Value>): boolean {
  return children === undefined && star === undefined && here === undefined && below === undefined;
}

function removeChild<Value>(parent: Step<Value>, child: Step<Value>): void {
  if (!(parent.children instanceof Map)) {
    parent.children = undefined;
    return;
  }
  unlink(parent.children, child);
  if (parent.children.size === 0) parent.children = undefined;
}

function unlink<Value>(children: Map<number, Step<Value>>, child: Step<Value>): void {
  const hash = segmentHash(child.literal);
  const first = children.get(hash);
  if (first === child) {
    if (child.twin === undefined) children.delete(hash);
    else children.set(hash, child.twin);
    return;
  }
  for (let step = first; step !== undefined; step = step.twin) {
    if (step.twin === child) step.twin = child.twin;
  }
}
