import { BusError } from '../errors.ts';
import { checkPattern, coversPattern, hasWildcard } from './topic.ts';

/** What is journalled unless the options say otherwise: what a restart must not lose. */
export const defaultDurableTopics: readonly string[] = [
  'message.inbound.#',
  'message.outbound.#',
  'agent.skill.request',
  'agent.skill.queue.#',
  'cron.#',
  'command.#',
];

/** Recent answers are forgotten when there are more of them than this, or more values in them. */
const cachedTopics = 8192;
const cachedValues = 262_144;

/** One segment of a pattern in the trie; `*` and `#` are children like others. */
interface Step<Value> {
  children: Map<string, Step<Value>>;
  /** Values of the pattern that ends here. */
  values: Value[];
}

/** Finds the values whose patterns match a topic: a trie of segments, and a bounded cache of recent answers. */
export class TopicIndex<Value extends NonNullable<unknown>> {
  readonly #root: Step<Value> = emptyStep();
  readonly #cache = new Map<string, readonly Value[]>();
  #valuesInCache = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(pattern: string, value: Value): void {
    checkPattern(pattern);
    let step = this.#root;
    for (const segment of pattern.split('.')) {
      const next = step.children.get(segment) ?? emptyStep();
      step.children.set(segment, next);
      step = next;
    }
    step.values.push(value);
    this.#forgetAnswers(pattern);
    this.#size += 1;
  }

  /** Removes one value that was added under the pattern; false when there is none. */
  remove(pattern: string, value: Value): boolean {
    if (!removeValue(this.#root, pattern.split('.'), value)) return false;
    this.#forgetAnswers(pattern);
    this.#size -= 1;
    return true;
  }

  /** All matching values, in no particular order. The array is shared: do not change it. */
  match(topic: string): readonly Value[] {
    const cached = this.#cache.get(topic);
    if (cached !== undefined) return cached;
    const found: Value[] = [];
    collect(this.#root, topic.split('.'), 0, found);
    if (this.#cache.size >= cachedTopics || this.#valuesInCache >= cachedValues) this.#forgetAnswers('#');
    this.#cache.set(topic, found);
    this.#valuesInCache += found.length;
    return found;
  }

  #forgetAnswers(changedPattern: string): void {
    if (!hasWildcard(changedPattern)) {
      this.#cache.delete(changedPattern);
      return;
    }
    this.#cache.clear();
    this.#valuesInCache = 0;
  }
}

const emptyStep = <Value>(): Step<Value> => ({ children: new Map(), values: [] });

/** Removes the value below a step, and the steps that hold nothing afterwards. */
function removeValue<Value>(step: Step<Value>, [segment, ...rest]: string[], value: Value): boolean {
  if (segment === undefined) {
    const at = step.values.indexOf(value);
    if (at >= 0) step.values.splice(at, 1);
    return at >= 0;
  }
  const child = step.children.get(segment);
  if (child === undefined || !removeValue(child, rest, value)) return false;
  if (child.children.size === 0 && child.values.length === 0) step.children.delete(segment);
  return true;
}

/** Follows `*` and the literal segment from each step; `#` matches whatever is left, also nothing. */
function collect<Value>(
  step: Step<Value> | undefined,
  topic: readonly string[],
  depth: number,
  found: Value[],
): void {
  if (step === undefined) return;
  for (const value of step.children.get('#')?.values ?? []) found.push(value);
  const segment = topic[depth];
  if (segment === undefined) {
    for (const value of step.values) found.push(value);
    return;
  }
  collect(step.children.get('*'), topic, depth + 1, found);
  collect(step.children.get(segment), topic, depth + 1, found);
}

/** The topics that are journalled. */
export class DurableTopics {
  readonly patterns: readonly string[];
  readonly #index = new TopicIndex<string>();

  constructor(patterns: readonly string[] = defaultDurableTopics) {
    for (const pattern of patterns) this.#index.add(pattern, pattern);
    this.patterns = withoutCovered(patterns);
  }

  has(topic: string): boolean {
    return this.#index.match(topic).length > 0;
  }

  /** Throws when the pattern reaches beyond the journal, where a durable subscription would miss messages. */
  checkCovers(pattern: string): void {
    if (this.patterns.some((durable) => coversPattern(durable, pattern))) return;
    const words = `A durable subscription to ${JSON.stringify(pattern)} would miss what is not journalled: choose a pattern within ${this.patterns.join(', ') || '(none)'}, add it to the durable topics, or subscribe without "durable".`;
    throw new BusError('topic_not_durable', words);
  }
}

/** Leaves out what another pattern of the list matches anyway. */
function withoutCovered(patterns: readonly string[]): string[] {
  const distinct = [...new Set(patterns)];
  return distinct.filter(
    (pattern) => !distinct.some((other) => other !== pattern && coversPattern(other, pattern)),
  );
}
