import type { Principal } from '@trunkline/identity';
import {
  type Artifact,
  isParked,
  isTerminal,
  type Message,
  mayFollow,
  type NumberedEvent,
  type Task,
  type TaskEvent,
  type TaskState,
  type Usage,
} from '../protocol/model.ts';

export type EventListener = (emitted: NumberedEvent) => void;

/** How a turn ended: with the task as it was then, or with a plain message. */
export type Outcome = { task: Task } | { message: Message };

export interface StatusChange {
  message?: Message;
  usage?: Usage;
  durationMs?: number;
  deniedCalls?: number;
  question?: Task['question'];
  /** The message went out with the status before: it stands in the task, but does not go out again. */
  isSaid?: boolean;
}

/** A task in memory: its present form, those who follow it, and what is not on disk yet. */
export class LiveTask {
  readonly id: string;
  /** Finds the task again when its request is repeated. */
  readonly requestKey: string | undefined;
  /** When it was last needed, for eviction. */
  touchedAt: number;
  /** For whom a turn runs now. */
  asker: Principal | undefined;
  /** Stops the turn that runs. */
  controller: AbortController | undefined;
  /** Resolves when the state in which the task waits or ended has been written, or could not be. */
  saving: Promise<unknown> = Promise.resolve();
  #task: Task;
  #sequence: number;
  #stored: boolean;
  #unsaved: NumberedEvent[] = [];
  readonly #listeners = new Set<EventListener>();
  #owner: EventListener | undefined;
  #waiting: ((outcome: Outcome) => void)[] = [];
  /** The plain message that came instead of an end. */
  #reply: Message | undefined;
  /** The answer as it grows; part of the task only when someone looks. */
  #growing: string | undefined;

  /** One that comes from disk knows the number of its last event. */
  constructor(task: Task, origin: { sequence: number; stored: boolean; requestKey?: string | undefined }) {
    this.id = task.id;
    this.requestKey = origin.requestKey;
    this.touchedAt = task.updatedAt;
    this.#task = task;
    this.#sequence = origin.sequence;
    this.#stored = origin.stored;
  }

  get state(): TaskState {
    return this.#task.state;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get stored(): boolean {
    return this.#stored;
  }

  get followed(): boolean {
    return this.#listeners.size > 0;
  }

  snapshot(): Task {
    if (this.#growing !== undefined) {
      this.#task = withArtifact(this.#task, answerArtifact(this.#growing), false);
      this.#growing = undefined;
    }
    return this.#task;
  }

  /** Enters a state, if the table allows it from here; says whether it did. From then on it is a task of this service. */
  enter(state: TaskState, at: number, change: StatusChange = {}): boolean {
    if (!mayFollow(this.#task.state, state)) return false;
    const { message, usage, durationMs, deniedCalls, question } = change;
    const task: Writable<Task> = { ...withoutStatus(this.snapshot()), state, updatedAt: at };
    if (message !== undefined) task.statusMessage = message;
    if (usage !== undefined) task.usage = usage;
    if (durationMs !== undefined) task.durationMs = durationMs;
    if (deniedCalls !== undefined) task.deniedCalls = deniedCalls;
    if (question !== undefined) task.question = question;
    this.#task = task;
    this.#emit({ type: 'status', state, at, ...reported(change) });
    if (isParked(state) || isTerminal(state)) this.#settle({ task: this.#task });
    return true;
  }

  /** Puts a message, and the agent's last words before it, into the history. */
  remember(message: Message): void {
    const { statusMessage, history } = this.#task;
    this.#task = { ...this.#task, history: [...history, ...(statusMessage ? [statusMessage] : []), message] };
  }

  /** Restores an earlier state in which the task waited. The owner is not notified: it asked for this. */
  restore(task: Task, at: number): void {
    const owner = this.#owner;
    this.#owner = undefined;
    this.#growing = undefined;
    this.#task = task;
    const message = task.statusMessage;
    this.#emit({ type: 'status', state: task.state, at, ...(message && { message }) });
    this.#settle({ task });
    this.#owner = owner;
  }

  /** Takes over how another service that shares the task has it: followers get what they have not had. The owner knows. */
  follow(task: Task, events: readonly NumberedEvent[]): readonly NumberedEvent[] {
    const before = this.state;
    this.#growing = undefined;
    this.#task = task;
    const missed = events.filter(({ sequence }) => sequence > this.#sequence);
    const isTold = missed.some(({ event }) => event.type === 'status' && event.state === task.state);
    const { state, updatedAt: at, statusMessage: message } = task;
    // Both have counted on from the same number: the end goes out under the next one.
    if (state !== before && !isTold)
      missed.push({
        sequence: (missed.at(-1)?.sequence ?? this.#sequence) + 1,
        event: { type: 'status', state, at, ...(message && { message }) },
      });
    this.#sequence = missed.at(-1)?.sequence ?? this.#sequence;
    for (const emitted of missed) for (const listener of this.#listeners) listener(emitted);
    if (isParked(state) || isTerminal(state)) this.#settle({ task });
    return missed;
  }

  /** From now on the task runs here. */
  runHere(): void {
    const { runner: _, ...task } = this.snapshot();
    this.#task = task;
  }

  /** Adds to the answer, or begins it anew. The text goes out as it came: only what is new. */
  growAnswer(text: string, options: { append: boolean; lastChunk: boolean }): void {
    const before = options.append ? (this.#growing ?? answerOf(this.#task)) : '';
    this.#growing = before + text;
    this.#emit({ type: 'artifact', artifact: answerArtifact(text), ...options });
  }

  /** Sends an artifact out; `kept` ones become part of the task. */
  publish(artifact: Artifact, options: { append: boolean; lastChunk: boolean; kept: boolean }): void {
    const { append, lastChunk, kept } = options;
    if (kept) this.#task = withArtifact(this.snapshot(), artifact, append);
    this.#emit({ type: 'artifact', artifact, append, lastChunk });
  }

  /** Ends with a plain message instead of a task. */
  reply(message: Message): void {
    this.#reply = message;
    this.#emit({ type: 'message', message });
    this.#settle({ message });
  }

  /** Sets the listener of the engine, which does not count as a follower. */
  bind(owner: EventListener): void {
    this.#owner = owner;
  }

  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the task next waits or ends and that is on disk; at once when it does so already. */
  async settled(): Promise<Outcome> {
    const outcome = await this.#outcome();
    await this.saving;
    return outcome;
  }

  #outcome(): Promise<Outcome> | Outcome {
    if (this.#reply !== undefined) return { message: this.#reply };
    if (this.state !== 'working') return { task: this.snapshot() };
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  unsaved(): readonly NumberedEvent[] {
    return this.#unsaved;
  }

  /** Told right after a commit: the task and all its events so far are on disk. */
  markSaved(): void {
    this.#stored = true;
    this.#unsaved = [];
  }

  #emit(event: TaskEvent): void {
    this.#sequence += 1;
    const emitted = { sequence: this.#sequence, event };
    this.#unsaved.push(emitted);
    for (const listener of this.#listeners) listener(emitted);
    this.#owner?.(emitted);
  }

  #settle(outcome: Outcome): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(outcome);
  }
}

type Writable<Value> = { -readonly [Field in keyof Value]: Value[Field] };

/** The task without what belongs to the state that it leaves. Most have nothing of it, and taking fields out of an object is slow. */
function withoutStatus(task: Task): Task {
  if (task.question === undefined && task.statusMessage === undefined && task.runner === undefined)
    return task;
  const { question: _, statusMessage: __, runner: ___, ...kept } = task;
  return kept;
}

function reported({ message, usage, durationMs, isSaid }: StatusChange) {
  return {
    ...(message && !isSaid && { message }),
    ...(usage && { usage }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

const answerId = 'answer';

function answerArtifact(text: string): Artifact {
  return { artifactId: answerId, parts: [{ type: 'text', text }] };
}

function answerOf(task: Task): string {
  const [part] = task.artifacts.find((artifact) => artifact.artifactId === answerId)?.parts ?? [];
  return part?.type === 'text' ? part.text : '';
}

/** The answer stands first, as callers read it there. */
function withArtifact(task: Task, artifact: Artifact, append: boolean): Task {
  const index = task.artifacts.findIndex((known) => known.artifactId === artifact.artifactId);
  const known = task.artifacts[index];
  if (known !== undefined) {
    const merged = append ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact;
    return { ...task, artifacts: task.artifacts.with(index, merged) };
  }
  const first = artifact.artifactId === answerId;
  return { ...task, artifacts: first ? [artifact, ...task.artifacts] : [...task.artifacts, artifact] };
}
