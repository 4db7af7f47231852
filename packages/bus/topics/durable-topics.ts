import { BusError } from '../errors.ts';
import { coversPattern } from './topic.ts';
import { TopicIndex } from './topic-index.ts';

/** What is journalled unless the options say otherwise: what a restart must not lose. */
export const defaultDurableTopics: readonly string[] = [
  'message.inbound.#',
  'message.outbound.#',
  'agent.skill.request',
  'agent.skill.queue.#',
  'cron.#',
  'command.#',
];

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
