import type { Task, TaskObserver } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import { type ChatOrigin, type ChatStore, originOf } from './chat-store.ts';
import { type ChatChange, type ChatTurn, Transcript } from './transcript.ts';

/** Marks a task that a person started here. */
export const chatMetadata = { channel: 'chat' };
/** Marks a task that a person started on a chat platform. */
export const platformMetadata = { channel: 'platform' };

export interface ChatFollower {
  change(change: ChatChange): void;
  /** The task has ended: nothing more will come. */
  end(): void;
}

interface Recording {
  transcript: Transcript;
  origin: ChatOrigin;
  owner: string | undefined;
}

const ended = ['completed', 'failed', 'canceled', 'rejected'];
const retryDelayMs = 1000;

/** Stores conversations as people see them, and streams changes to those who watch one. */
export class ChatRecorder implements TaskObserver {
  readonly #store: ChatStore;
  readonly #logger: Logger;
  readonly #running = new Map<string, Recording>();
  readonly #followers = new Map<string, Set<ChatFollower>>();
  /** Tasks whose record could not be written. */
  readonly #unwritten = new Set<string>();
  #retry: NodeJS.Timeout | undefined;

  constructor(store: ChatStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  turnStarted(task: Task): void {
    const recording = this.#recordingOf(task);
    const message = task.history.findLast(({ role }) => role === 'user');
    if (recording === undefined || message === undefined) return;
    const { transcript } = recording;
    transcript.turn.state = 'working';
    this.#tell(task.id, transcript.say(message));
    this.#save(task.id, recording);
  }

  taskEvent(live: Parameters<NonNullable<TaskObserver['taskEvent']>>[0], event: TaskEvent): void {
    const recording = this.#running.get(live.id) ?? this.#recordingOf(live.snapshot());
    if (recording !== undefined) this.#tell(live.id, recording.transcript.apply(event));
  }

  /** A task that waits for an answer is on disk and leaves memory. */
  turnEnded(task: Task): void {
    const recording = this.#running.get(task.id);
    if (recording === undefined) return;
    this.#save(task.id, recording);
    if (!ended.includes(task.state)) return;
    for (const follower of this.#followers.get(task.id) ?? []) follower.end();
    this.#followers.delete(task.id);
  }

  /** A turn as it stands now. */
  find(taskId: string): ChatTurn | undefined {
    return this.#running.get(taskId)?.transcript.turn ?? this.#store.find(taskId);
  }

  /** Reports changes from now on. Returns the function that ends it. */
  follow(taskId: string, follower: ChatFollower): () => void {
    const followers = this.#followers.get(taskId) ?? new Set();
    this.#followers.set(taskId, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(taskId) === followers) this.#followers.delete(taskId);
    };
  }

  /** Retries failed writes once more, then stops. */
  stop(): void {
    this.#saveAgain();
    clearTimeout(this.#retry);
  }

  /** While the disk is full the turn goes on, and its record waits in memory for room. */
  #save(taskId: string, { transcript, origin, owner }: Recording): void {
    try {
      this.#store.save(transcript.turn, origin, owner);
      this.#unwritten.delete(taskId);
      if (transcript.turn.state !== 'working') this.#running.delete(taskId);
    } catch (error) {
      this.#logger.error({ err: error, taskId }, 'failed to store chat; retrying');
      this.#unwritten.add(taskId);
      this.#retry ??= setTimeout(() => this.#saveAgain(), retryDelayMs).unref();
    }
  }

  #saveAgain(): void {
    this.#retry = undefined;
    for (const taskId of [...this.#unwritten]) {
      const recording = this.#running.get(taskId);
      if (recording === undefined) this.#unwritten.delete(taskId);
      else this.#save(taskId, recording);
    }
  }

  /** A parked task continues with its stored transcript. */
  #recordingOf(task: Task): Recording | undefined {
    const known = this.#running.get(task.id);
    if (known !== undefined) return known;
    const origin = originOf(task);
    const stored = this.#store.find(task.id);
    const scheduledIn = origin === undefined && !stored ? this.#store.scheduledIn(task) : undefined;
    if (origin === undefined && !stored && scheduledIn === undefined) return undefined;
    const transcript = stored === undefined ? Transcript.of(task, scheduledIn) : new Transcript(stored);
    // The conversation that shows a schedule's run keeps its own origin.
    const recording = { transcript, origin: origin ?? 'chat', owner: task.owner };
    this.#running.set(task.id, recording);
    return recording;
  }

  #tell(taskId: string, changes: readonly ChatChange[]): void {
    for (const follower of this.#followers.get(taskId) ?? []) {
      for (const change of changes) follower.change(change);
    }
  }
}

type TaskEvent = Parameters<NonNullable<TaskObserver['taskEvent']>>[1];
