import type { Task, TaskObserver } from '@trunkline/a2a';
import type { ChatStore } from './chat-store.ts';
import { type ChatChange, type ChatTurn, Transcript } from './transcript.ts';

/** Says of a task that a person follows it as a conversation. */
export const chatMetadata = { channel: 'chat' };

export interface ChatFollower {
  change(change: ChatChange): void;
  /** The task has ended: nothing more will come. */
  end(): void;
}

const ended = ['completed', 'failed', 'canceled', 'rejected'];

/** Keeps conversations as people see them, and tells those who look at one what happens in it. */
export class ChatRecorder implements TaskObserver {
  readonly #store: ChatStore;
  readonly #running = new Map<string, Transcript>();
  readonly #followers = new Map<string, Set<ChatFollower>>();

  constructor(store: ChatStore) {
    this.#store = store;
  }

  turnStarted(task: Task): void {
    const transcript = this.#transcriptOf(task);
    const message = task.history.findLast(({ role }) => role === 'user');
    if (transcript === undefined || message === undefined) return;
    transcript.turn.state = 'working';
    this.#tell(task.id, transcript.say(message));
    this.#store.save(transcript.turn);
  }

  taskEvent(live: Parameters<NonNullable<TaskObserver['taskEvent']>>[0], event: TaskEvent): void {
    const transcript = this.#running.get(live.id) ?? this.#transcriptOf(live.snapshot());
    if (transcript !== undefined) this.#tell(live.id, transcript.apply(event));
  }

  turnEnded(task: Task): void {
    const transcript = this.#running.get(task.id);
    if (transcript === undefined) return;
    this.#store.save(transcript.turn);
    if (!ended.includes(task.state)) return;
    this.#running.delete(task.id);
    for (const follower of this.#followers.get(task.id) ?? []) follower.end();
    this.#followers.delete(task.id);
  }

  /** A turn as it stands now. */
  find(taskId: string): ChatTurn | undefined {
    return this.#running.get(taskId)?.turn ?? this.#store.find(taskId);
  }

  /** Tells what happens from now on; gives back what ends it. */
  follow(taskId: string, follower: ChatFollower): () => void {
    const followers = this.#followers.get(taskId) ?? new Set();
    this.#followers.set(taskId, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(taskId) === followers) this.#followers.delete(taskId);
    };
  }

  /** A task that was parked before a restart goes on with what was stored of it. */
  #transcriptOf(task: Task): Transcript | undefined {
    if (task.metadata?.channel !== chatMetadata.channel) return undefined;
    const known = this.#running.get(task.id);
    if (known !== undefined) return known;
    const stored = this.#store.find(task.id);
    const transcript = stored === undefined ? Transcript.of(task) : new Transcript(stored);
    this.#running.set(task.id, transcript);
    return transcript;
  }

  #tell(taskId: string, changes: readonly ChatChange[]): void {
    for (const follower of this.#followers.get(taskId) ?? []) {
      for (const change of changes) follower.change(change);
    }
  }
}

type TaskEvent = Parameters<NonNullable<TaskObserver['taskEvent']>>[1];
