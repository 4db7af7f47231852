import { hasWildcard, matchesTopic } from './topic.ts';

/** Topics in one generation; the cache holds two. */
const generationSize = 4096;

/** Values in one generation: with many subscribers to everything, each topic has a long list. */
const generationValues = 262_144;

const dot = 46;

const seed = 7;

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

/**
 * Where the segments of a topic end, with a hash of each, found in one pass over its characters.
 * One scan is used for topic after topic: cutting out and hashing strings costs three times as much.
 */
class SegmentScan {
  count = 0;
  #topic = '';
  #ends = new Int32Array(64);
  #hashes = new Int32Array(64);

  read(topic: string): void {
    if (topic.length >= this.#ends.length) this.#grow(topic.length + 1);
    let count = 0;
    let hash = seed;
    for (let index = 0; index < topic.length; index += 1) {
      const code = topic.charCodeAt(index);
      if (code !== dot) hash = mixed(hash, code);
      else {
        this.#ends[count] = index;
        this.#hashes[count] = hash;
        count += 1;
        hash = seed;
      }
    }
    this.#ends[count] = topic.length;
    this.#hashes[count] = hash;
    this.count = count + 1;
    this.#topic = topic;
  }

  hash(depth: number): number {
    return this.#hashes[depth] ?? seed;
  }

  /** Whether the segment at this depth is exactly the text. */
  equals(depth: number, text: string): boolean {
    const start = depth === 0 ? 0 : (this.#ends[depth - 1] ?? 0) + 1;
    return (this.#ends[depth] ?? 0) - start === text.length && this.#topic.startsWith(text, start);
  }

  #grow(length: number): void {
    this.#ends = new Int32Array(length);
    this.#hashes = new Int32Array(length);
  }
}

/** The hash that a scan gives for this segment. */
export function segmentHash(segment: string): number {
  let hash = seed;
  for (let index = 0; index < segment.length; index += 1) hash = mixed(hash, segment.charCodeAt(index));
  return hash;
}

function mixed(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0;
}

/**
 * Remembers which values matched recent topics.
 * Two generations stand in for an order of use: what is asked for again moves to the young one,
 * and when that is full the old one goes. So memory is bounded and a hit costs one look-up.
 */
export class MatchCache<Value> {
  #young = new Map<string, readonly Value[]>();
  #old = new Map<string, readonly Value[]>();
  /** Values that the young generation was given. */
  #values = 0;
  /** Whether anything was looked up since the last wildcard pattern changed. */
  #used = false;

  get(topic: string): readonly Value[] | undefined {
    this.#used = true;
    return this.#young.get(topic) ?? this.#promote(topic);
  }

  set(topic: string, values: readonly Value[]): void {
    if (this.#young.size >= generationSize || this.#values >= generationValues) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#values = 0;
    }
    this.#young.set(topic, values);
    this.#values += values.length;
  }

  /**
   * Forgets the topics that a new or removed pattern matches.
   * In a burst of changes with no look-up between, nothing warm is worth the search: then all is forgotten.
   */
  invalidate(pattern: string): void {
    if (this.#young.size === 0 && this.#old.size === 0) return;
    if (!hasWildcard(pattern)) {
      this.#forget(pattern);
      return;
    }
    if (this.#used) this.#forgetMatching(pattern);
    else this.#clear();
    this.#used = false;
  }

  #promote(topic: string): readonly Value[] | undefined {
    const found = this.#old.get(topic);
    if (found !== undefined) this.set(topic, found);
    return found;
  }

  #forget(topic: string): void {
    this.#young.delete(topic);
    this.#old.delete(topic);
  }

  #forgetMatching(pattern: string): void {
    for (const generation of [this.#young, this.#old]) {
      for (const topic of generation.keys()) {
        if (matchesTopic(pattern, topic)) generation.delete(topic);
      }
    }
  }

  #clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#values = 0;
  }
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
