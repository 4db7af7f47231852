import { actsForItself, roleOf } from '@trunkline/identity';
import {
  type DeliveryContext,
  LiveGroup,
  type LiveOptions,
  LiveSubscription,
} from '../delivery/live-subscription.ts';
import { BusError } from '../errors.ts';
import type { Checked } from '../message.ts';
import type { Message, Subscription } from '../port.ts';
import type { TopicIndex } from '../topics/topic-index.ts';
import type { CursorSaver } from './cursor-saver.ts';
import type { OwnerKind, Row } from './journal/message-table.ts';
import type { JournalThread } from './journal/thread.ts';

interface Waiting {
  message: Message;
  text: string;
  resolve(): void;
  reject(error: unknown): void;
}

/** Text waiting for the disk; beyond it publishers are refused. */
const maximumWaitingCharacters = 67_108_864;
const maximumBatch = 2000;

/**
 * Writes messages into the journal, all that came in while the last ones were written with one wait for the disk, and
 * with them the cursors that moved meanwhile. `stored` is called in the order of the journal, before the publisher is answered; a known id is not stored again.
 */
export class Appender {
  readonly #journal: JournalThread;
  readonly #cursors: CursorSaver;
  readonly #stored: (message: Message, position: number) => void;
  #waiting: Waiting[] = [];
  #characters = 0;
  #busy = false;
  #pending = 0;

  constructor(
    journal: JournalThread,
    cursors: CursorSaver,
    stored: (message: Message, position: number) => void,
  ) {
    this.#journal = journal;
    this.#cursors = cursors;
    this.#stored = stored;
  }

  /** Messages whose publishers are not answered yet. */
  get pending(): number {
    return this.#pending;
  }

  append(checked: Checked): Promise<void> {
    if (this.#characters > maximumWaitingCharacters) throw new BusError('overloaded', overloadWords);
    const text = checked.text();
    this.#characters += text.length;
    this.#pending += 1;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ message: checked.message, text, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** At the end of this turn of the event loop, so that everything published in it shares one write. */
  #schedule(): void {
    if (this.#busy) return;
    this.#busy = true;
    this.#cursors.hold();
    setImmediate(() => void this.#write());
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0, maximumBatch);
    try {
      const positions = await this.#cursors.write((moved) =>
        this.#journal.call('append', batch.map(rowOf), moved),
      );
      for (const [index, waiting] of batch.entries()) this.#accept(waiting, positions[index] ?? 0);
    } catch (error) {
      for (const waiting of batch) this.#refuse(waiting, error);
    }
    this.#busy = false;
    if (this.#waiting.length > 0) this.#schedule();
    else this.#cursors.release();
  }

  #accept(waiting: Waiting, position: number): void {
    this.#settle(waiting);
    if (position > 0) this.#stored(waiting.message, position);
    waiting.resolve();
  }

  #refuse(waiting: Waiting, error: unknown): void {
    this.#settle(waiting);
    waiting.reject(error);
  }

  #settle({ text }: Waiting): void {
    this.#characters -= text.length;
    this.#pending -= 1;
  }
}

function rowOf({ message, text }: Waiting): Row {
  return [message.id, message.topic, message.correlationId, text, null, ownerKindOf(message)];
}

/** A message without a principal is a service's own. */
function ownerKindOf({ principal }: Message): OwnerKind {
  if (principal === undefined || principal.kind === 'operator' || actsForItself(principal)) return null;
  return principal.kind === 'anonymous' || roleOf(principal) === 'guest' ? 'stranger' : 'user';
}

const overloadWords =
  'Too much waits to be written to the bus journal: publish more slowly, or move the journal to a faster disk.';

/** Takes the messages of a pattern; the position is 0 for those that are not journalled. */
export interface Sink {
  deliver(message: Message, position: number): void;
}

/** The subscriptions without a cursor. */
export class LiveRegistry {
  readonly #index: TopicIndex<Sink>;
  readonly #context: DeliveryContext;
  readonly #groups = new Map<string, LiveGroup>();
  #size = 0;

  constructor(index: TopicIndex<Sink>, context: DeliveryContext) {
    this.#index = index;
    this.#context = context;
  }

  get size(): number {
    return this.#size;
  }

  add(options: LiveOptions, group: string | undefined): Subscription {
    const subscription = new LiveSubscription(options, this.#context);
    const { pattern } = options;
    this.#size += 1;
    if (group === undefined) this.#index.add(pattern, subscription);
    else this.#join(pattern, group, subscription);
    const unsubscribe = async () => this.#remove(pattern, group, subscription);
    return { pattern, unsubscribe, forget: unsubscribe };
  }

  #join(pattern: string, group: string, member: LiveSubscription): void {
    const key = `${group} ${pattern}`;
    const known = this.#groups.get(key);
    const members = known ?? new LiveGroup();
    members.join(member);
    if (known !== undefined) return;
    this.#groups.set(key, members);
    this.#index.add(pattern, members);
  }

  #remove(pattern: string, group: string | undefined, subscription: LiveSubscription): void {
    if (!subscription.close()) return;
    this.#size -= 1;
    if (group === undefined) this.#index.remove(pattern, subscription);
    else this.#leave(pattern, group, subscription);
  }

  #leave(pattern: string, group: string, member: LiveSubscription): void {
    const key = `${group} ${pattern}`;
    const members = this.#groups.get(key);
    members?.leave(member);
    if (members === undefined || !members.empty) return;
    this.#groups.delete(key);
    this.#index.remove(pattern, members);
  }
}
