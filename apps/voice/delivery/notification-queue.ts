import { joinOrigins, type Origin } from '@trunkline/identity';
import type { Clock } from '@trunkline/schedule';
import { Alarm } from '../call/clock.ts';
import { wordsIn } from '../call/turns/short-phrase.ts';
import type { Language } from '../languages/languages.ts';
import type { Delivery, ToolOutcome } from './delivery.ts';

export interface NotificationQueueDeps {
  clock: Clock;
  language(): Language;
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
    const { say } = this.#deps;
    const language = this.#deps.language();
    if (asksForNotifications(text, language) || (answering && answers(text, 'yes', language)))
      return this.#speakAll();
    if (!answering) return false;
    this.#postpone(this.#items);
    if (!answers(text, 'no', language)) return false;
    say(language.notifications.later, false, () => undefined);
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
    const language = this.#deps.language();
    const { several, counts } = language.notifications;
    const count = counts.split(' ')[waiting.length] ?? String(waiting.length);
    const words = several.replace('{count}', count).replace('{names}', () => listed(senders, language));
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

function listed(names: readonly string[], { locale, notifications }: Language): string {
  if (names.length > 3) return notifications.others.replace('{names}', names.slice(0, 2).join(', '));
  return new Intl.ListFormat(locale, { type: 'conjunction' }).format(names);
}

function asksForNotifications(text: string, { notifications }: Language): boolean {
  return new RegExp(notifications.asking).test(wordsIn(text).join(' '));
}

function answers(text: string, answer: 'yes' | 'no', { notifications }: Language): boolean {
  const pattern = `^(?:(?:${notifications.opening}) )*(?:${notifications[answer]})(?= |$)`;
  return new RegExp(pattern).test(wordsIn(text).join(' '));
}
