import { joinOrigins, type Origin } from '@trunkline/identity';
import type { Clock } from '@trunkline/schedule';
import { Alarm } from '../call/clock.ts';
import { wordsIn } from '../call/turns/interruption.ts';
import type { Delivery, ToolOutcome } from './delivery.ts';

export interface NotificationQueueDeps {
  clock: Clock;
  quietMs(): number;
  isListening(): boolean;
  isMuted(): boolean;
  /** Speaks a text; `done` reports whether all of it was heard. `urgent`: before whatever else waits. */
  say(words: string, urgent: boolean, done: (heard: boolean) => void, origins?: readonly Origin[]): void;
  /** Has the model announce a tool's result; `done` reports whether any of it was heard. */
  announceResult(outcome: ToolOutcome, done: (heard: boolean) => void): void;
}

interface Item {
  delivery: Delivery;
  /** Set while it waits to be asked for: when it expires. */
  until: number | undefined;
}

const quietNeededMs = 600;
const mutedNeededMs = 10_000;
const askedWithinMs = 600_000;
const answerWithinMs = 15_000;
const pollMs = 100;
const mostItems = 200;

/** Speaks notifications to one caller as their delivery policy allows. */
export class NotificationQueue {
  readonly #deps: NotificationQueueDeps;
  readonly #poll: Alarm;
  readonly #expiry: Alarm;
  #items: Item[] = [];
  #speaking = 0;
  /** When the caller was asked "Do you want to hear them?". */
  #askedAt: number | undefined;
  #closed = false;

  constructor(deps: NotificationQueueDeps) {
    this.#deps = deps;
    this.#poll = new Alarm(deps.clock);
    this.#expiry = new Alarm(deps.clock);
  }

  offer(delivery: Delivery): void {
    if (this.#closed) return;
    // The rest stays in the pending store for the next call.
    if (this.#items.length >= mostItems) return;
    const until = delivery.policy === 'when_asked' ? this.#deadline() : undefined;
    this.#items.push({ delivery, until });
    this.#schedule();
  }

  /** Handles text that asks for notifications or answers the question about them. Returns whether it did. */
  intercept(text: string): boolean {
    const answering = this.#askedAt !== undefined;
    this.#askedAt = undefined;
    this.#expire();
    if (this.#items.length === 0) return false;
    if (asksForNotifications(text) || (answering && isYes(text))) return this.#speakAll();
    if (!answering) return false;
    this.#postpone(this.#items);
    if (!isNo(text)) return false;
    this.#deps.say('All right, just ask when you want to hear it.', false, () => undefined);
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#items = [];
    this.#poll.cancel();
    this.#expiry.cancel();
  }

  #schedule(): void {
    this.#expire();
    if (this.#closed || this.#poll.isSet || !this.#items.some(({ until }) => until === undefined)) return;
    this.#poll.set(pollMs, () => {
      this.#expire();
      this.#speakNext();
      this.#schedule();
    });
  }

  #speakNext(): void {
    const { isListening, isMuted } = this.#deps;
    const waiting = this.#items.filter(({ until }) => until === undefined);
    const urgent = waiting.filter(({ delivery }) => delivery.policy === 'now');
    if (urgent.length > 0 && !isListening()) this.#speak(urgent, true);
    else if (this.#askedAt !== undefined) this.#awaitAnswer(this.#askedAt, waiting);
    else if (this.#speaking > 0 || this.#deps.quietMs() < (isMuted() ? mutedNeededMs : quietNeededMs)) return;
    else if (waiting.length > 1) this.#askFirst(waiting);
    else this.#speak(waiting, false);
  }

  #askFirst(waiting: readonly Item[]): void {
    this.#speaking += 1;
    const senders = [...new Set(waiting.map(({ delivery }) => delivery.from))];
    const words = `I have ${countOf(waiting.length)} messages for you, from ${listed(senders)}. Do you want to hear them?`;
    const asked = (heard: boolean) => {
      this.#speaking -= 1;
      if (heard) this.#askedAt = this.#deps.clock.now();
      else this.#postpone(waiting);
    };
    // Agents outside choose the names that the question lists.
    this.#deps.say(words, false, asked, joinOrigins(...waiting.map(({ delivery }) => delivery.origins)));
  }

  #awaitAnswer(askedAt: number, waiting: readonly Item[]): void {
    if (this.#deps.clock.now() - askedAt < answerWithinMs) return;
    this.#askedAt = undefined;
    this.#postpone(waiting);
  }

  #speakAll(): boolean {
    this.#speak(this.#items, false);
    return true;
  }

  #speak(items: readonly Item[], urgent: boolean): void {
    this.#items = this.#items.filter((item) => !items.includes(item));
    for (const item of items) {
      this.#speaking += 1;
      const { outcome, words, origins } = item.delivery;
      const done = (heard: boolean) => this.#onSpoken(item, heard);
      if (outcome === undefined) this.#deps.say(words, urgent, done, origins);
      else this.#deps.announceResult(outcome, done);
    }
  }

  /** An interrupted notification waits until the caller asks for it, or for the next call. */
  #onSpoken(item: Item, heard: boolean): void {
    this.#speaking -= 1;
    if (heard) item.delivery.spoken();
    else if (!this.#closed) {
      this.#items.push(item);
      this.#postpone([item]);
    }
  }

  #postpone(items: readonly Item[]): void {
    for (const item of items) item.until ??= this.#deadline();
    this.#schedule();
  }

  /** Drops what expired (the next call repeats it) and what was withdrawn. */
  #expire(): void {
    const now = this.#deps.clock.now();
    const isOpen = ({ until = Infinity, delivery }: Item) => until > now && !delivery.withdrawn?.aborted;
    this.#items = this.#items.filter(isOpen);
    const next = Math.min(...this.#items.map(({ until = Infinity }) => until));
    if (Number.isFinite(next)) this.#expiry.set(next - now, () => this.#expire());
  }

  #deadline(): number {
    return this.#deps.clock.now() + askedWithinMs;
  }
}

const numbers = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

function countOf(count: number): string {
  return numbers[count] ?? String(count);
}

function listed(names: readonly string[]): string {
  if (names.length > 3) return `${names.slice(0, 2).join(', ')} and others`;
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

const asking =
  /\b(any|what|got|have|hear|read|tell|give|play|check|is there|are there|were there)\b.*\b(news|messages?|updates?|results?)\b|\bwhat did (they|he|she|it) (say|find)\b|\banything new\b/;

function asksForNotifications(text: string): boolean {
  return asking.test(wordsIn(text).join(' '));
}

function isYes(text: string): boolean {
  return /^((oh|um|uh|well|and) )*(yes|yeah|yep|yup|sure|okay|ok|please|go ahead|go on|tell me|read|of course|absolutely|why not|lets hear|i do|definitely|alright|all right)\b/.test(
    wordsIn(text).join(' '),
  );
}

function isNo(text: string): boolean {
  return /^((oh|um|uh|well) )*(no|nope|nah|not now|later|not yet|maybe later|dont|in a)\b/.test(
    wordsIn(text).join(' '),
  );
}
