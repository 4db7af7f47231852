import type { OutputFilter } from '../protocol/media-types.ts';
import { isTerminal, type Task } from '../protocol/model.ts';
import type { TaskEngine } from './engine.ts';
import type { LiveTask } from './live-task.ts';
import type { NumberedEvent } from './task-store.ts';

/** Where the feed goes: a stream to a caller. */
export interface FeedOutlet {
  /** The task as it stood after the event of that number. */
  task(task: Task, sequence: number): void;
  event(emitted: NumberedEvent): void;
  end(): void;
}

export interface FeedOptions {
  /** `turn`: until the task waits or ends. `task`: through all its turns, until it ends. */
  until: 'turn' | 'task';
  /** What the reader takes; left out, everything. */
  filter?: OutputFilter | undefined;
}

/** More than this waiting for the stream to open means that something is wrong with it. */
const mostWaiting = 10_000;

/** The frames of one stream: what came before it opened, then what comes, until the end. */
export class Feed {
  readonly #live: LiveTask;
  readonly #until: FeedOptions['until'];
  readonly #filter: OutputFilter | undefined;
  #waiting: NumberedEvent[] = [];
  #first: { task: Task; sequence: number } | undefined;
  #outlet: FeedOutlet | undefined;
  readonly #unsubscribe: () => void;
  #ended = false;
  /** What comes waits until the end of the turn is on disk. */
  #held = false;

  /** Begins with the task as it is now. */
  static fromNow(live: LiveTask, options: FeedOptions): Feed {
    return new Feed(live, options, { task: live.snapshot(), sequence: live.sequence }, []);
  }

  /** Begins with the first event after that number: nothing twice, nothing left out. */
  static after(engine: TaskEngine, live: LiveTask, sequence: number, options: FeedOptions): Feed {
    return new Feed(live, options, undefined, engine.eventsAfter(live, sequence));
  }

  private constructor(
    live: LiveTask,
    options: FeedOptions,
    first: { task: Task; sequence: number } | undefined,
    missed: NumberedEvent[],
  ) {
    this.#live = live;
    this.#until = options.until;
    this.#filter = options.filter;
    this.#first = first;
    this.#waiting = missed;
    this.#unsubscribe = live.subscribe((emitted) => this.#take(emitted));
  }

  get place(): { id: string; contextId: string } {
    return this.#live.snapshot();
  }

  /** Nothing will come beyond what waits already. */
  get complete(): boolean {
    return this.#endsWith(this.#live.state) || this.#waiting[0]?.event.type === 'message';
  }

  /** Sends what has waited, and then each event as it happens. */
  open(outlet: FeedOutlet): void {
    if (this.#ended) {
      outlet.end();
      return;
    }
    const { complete } = this;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (this.#first !== undefined && waiting[0]?.event.type !== 'message') {
      outlet.task(this.#filter?.task(this.#first.task) ?? this.#first.task, this.#first.sequence);
    }
    this.#outlet = outlet;
    for (const emitted of waiting) this.#give(emitted);
    if (complete) this.close();
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    this.#outlet?.end();
  }

  #take(emitted: NumberedEvent): void {
    if (this.#ended) return;
    if (this.#outlet === undefined || this.#held) {
      this.#keep(emitted);
    } else if (emitted.event.type === 'status' && emitted.event.state !== 'working') {
      this.#keep(emitted);
      void this.#giveWhenStored(this.#isLast(emitted));
    } else {
      this.#give(emitted);
      if (this.#isLast(emitted)) this.close();
    }
  }

  /** Whoever was told of an end finds it after a crash. */
  async #giveWhenStored(isLast: boolean): Promise<void> {
    this.#held = true;
    // The engine, which writes it, is told after its followers.
    await Promise.resolve();
    await this.#live.saving;
    this.#held = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (!this.#ended) for (const emitted of waiting) this.#give(emitted);
    if (isLast) this.close();
  }

  #give(emitted: NumberedEvent): void {
    if (this.#filter?.event(emitted.event) !== false) this.#outlet?.event(emitted);
  }

  #keep(emitted: NumberedEvent): void {
    if (this.#waiting.length < mostWaiting) this.#waiting.push(emitted);
    else this.close();
  }

  #isLast({ event }: NumberedEvent): boolean {
    if (event.type === 'message') return true;
    return event.type === 'status' && this.#endsWith(event.state);
  }

  #endsWith(state: Task['state']): boolean {
    return this.#until === 'turn' ? state !== 'working' : isTerminal(state);
  }
}
