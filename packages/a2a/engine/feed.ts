import type { OutputFilter } from '../protocol/media-types.ts';
import { isTerminal, type NumberedEvent, type Task } from '../protocol/model.ts';
import type { TaskEngine } from './engine.ts';
import type { LiveTask } from './live-task.ts';

/** Where the feed goes: a stream to a caller. */
export interface FeedOutlet {
  /** The task as it stood after the event of that number. */
  task(task: Task, sequence: number): void;
  /** False when the reader lags: the rest is read from the store once it has caught up. */
  event(emitted: NumberedEvent): boolean;
  /** Resolves when the reader has caught up, and also when it has left. */
  drained(): Promise<void>;
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
  readonly #engine: TaskEngine;
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
  /** Nothing comes after what the reader is behind with. */
  #endsWhenCaughtUp = false;
  /** The number of the last event that the reader was given. */
  #given: number;
  /** The number of the task's last event when this stream began. */
  readonly #begunAt: number;
  /** What comes is not kept: the reader gets it from the store. */
  #isBehind: boolean;

  /** Begins with the task as it is now. */
  static fromNow(engine: TaskEngine, live: LiveTask, options: FeedOptions): Feed {
    const { sequence } = live;
    return new Feed(engine, live, options, sequence, { task: live.snapshot(), sequence });
  }

  /** Begins with the first event after that number: nothing twice, nothing left out. */
  static after(engine: TaskEngine, live: LiveTask, sequence: number, options: FeedOptions): Feed {
    return new Feed(engine, live, options, sequence);
  }

  private constructor(
    engine: TaskEngine,
    live: LiveTask,
    options: FeedOptions,
    given: number,
    first?: { task: Task; sequence: number },
  ) {
    this.#engine = engine;
    this.#live = live;
    this.#until = options.until;
    this.#filter = options.filter;
    this.#given = given;
    this.#begunAt = live.sequence;
    this.#first = first;
    this.#isBehind = first === undefined;
    this.#unsubscribe = live.subscribe((emitted) => this.#take(emitted));
  }

  get place(): { id: string; contextId: string } {
    return this.#live.snapshot();
  }

  /** Nothing will come beyond what waits already, and it is not much. */
  get complete(): boolean {
    if (this.#waiting[0]?.event.type === 'message') return true;
    if (!this.#endsWith(this.#live.state)) return false;
    return (
      !this.#isBehind || (this.#readNext().at(-1)?.sequence ?? this.#live.sequence) >= this.#live.sequence
    );
  }

  /** Sends what has waited, and then each event as it happens. */
  open(outlet: FeedOutlet): void {
    if (this.#ended) {
      outlet.end();
      return;
    }
    const { complete } = this;
    const waiting = this.#isBehind && complete ? this.#readNext() : this.#waiting;
    this.#waiting = [];
    if (this.#first !== undefined && waiting[0]?.event.type !== 'message') {
      outlet.task(this.#filter?.task(this.#first.task) ?? this.#first.task, this.#first.sequence);
    }
    this.#outlet = outlet;
    if (this.#isBehind && !complete) {
      this.#startCatchingUp();
      return;
    }
    this.#isBehind = false;
    for (const emitted of waiting) this.#give(emitted);
    if (complete) this.#endWhenGiven();
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    this.#outlet?.end();
  }

  /** A reader that lags gets the rest first. */
  #endWhenGiven(): void {
    if (this.#isBehind) this.#endsWhenCaughtUp = true;
    else this.close();
  }

  #take(emitted: NumberedEvent): void {
    if (this.#ended || this.#isBehind) return;
    if (this.#outlet === undefined || this.#held) {
      this.#keep(emitted);
    } else if (emitted.event.type === 'status' && emitted.event.state !== 'working') {
      this.#keep(emitted);
      void this.#giveWhenStored();
    } else {
      this.#give(emitted);
      if (this.#isLast(emitted)) this.close();
    }
  }

  /** Whoever was told of an end finds it after a crash. */
  async #giveWhenStored(): Promise<void> {
    this.#held = true;
    // The engine, which writes it, is told after its followers.
    await Promise.resolve();
    let saving: Promise<unknown> | undefined;
    // The task may have gone on meanwhile, and ended.
    while (saving !== this.#live.saving) {
      saving = this.#live.saving;
      await saving;
    }
    this.#held = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const emitted of waiting) this.#give(emitted);
    if (waiting.some((emitted) => this.#isLast(emitted))) this.#endWhenGiven();
  }

  #give(emitted: NumberedEvent): void {
    if (this.#ended || this.#isBehind) return;
    this.#given = emitted.sequence;
    if (this.#filter?.event(emitted.event) === false || this.#outlet?.event(emitted) !== false) return;
    this.#isBehind = true;
    this.#startCatchingUp();
  }

  /** Where the store cannot be read, or has closed, the reader must come back. */
  #startCatchingUp(): void {
    void this.#catchUp().catch(() => this.close());
  }

  /** Reads what the reader has not got yet, no more at a time than it takes, until it hears again what happens. */
  async #catchUp(): Promise<void> {
    while (!this.#ended) {
      await this.#outlet?.drained();
      const next = this.#readNext();
      if (next.length === 0) {
        this.#isBehind = false;
        if (this.#endsWhenCaughtUp || this.#endsWith(this.#live.state)) this.close();
        return;
      }
      for (const emitted of next) {
        if (emitted.event.type === 'status' && emitted.event.state !== 'working') await this.#live.saving;
        if (this.#ended) return;
        this.#given = emitted.sequence;
        if (this.#filter?.event(emitted.event) !== false && this.#outlet?.event(emitted) === false)
          await this.#outlet.drained();
        // Turns that had ended before this stream began do not end it.
        if (emitted.sequence > this.#begunAt && this.#isLast(emitted)) this.close();
      }
    }
  }

  /** Some of the events after the last one given; those that could not be stored where all others were given. */
  #readNext(): readonly NumberedEvent[] {
    const stored = this.#engine.eventsAfter(this.#live, this.#given, false);
    return stored.length > 0 ? stored : this.#live.unsaved().filter(({ sequence }) => sequence > this.#given);
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
