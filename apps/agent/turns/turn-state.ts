import type { Logger } from '@trunkline/config';
import { KeyedQueue } from '@trunkline/std';
import { ChatStore } from '../chats/chat-store.ts';
import { CheckpointStore } from './checkpoint-store.ts';
import { SessionMemory } from './session-memory.ts';
import { SessionStore } from './session-store.ts';
import { openState } from './state-database.ts';

export interface TurnStateOptions {
  directory: string;
  memoryDirectory: string;
  /** False: session summaries are read but not written. */
  writeMemory: boolean;
  /** Conversations that rested longer than this are forgotten. */
  keepDays: number;
  logger: Logger;
}

/** All that turns keep on disk, and the order in which they may run. */
export interface TurnState {
  sessions: SessionStore;
  checkpoints: CheckpointStore;
  locks: KeyedQueue;
  memory: SessionMemory;
  chats: ChatStore;
  /** Waits for turns and writes under way, within a limit. */
  close(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1000;
/** A task can be answered for a day; its checkpoint lives a little longer. */
const checkpointDays = 2;
const stopLimitMs = 3000;

export async function openTurnState(options: TurnStateOptions): Promise<TurnState> {
  const database = openState(options.directory);
  const sessions = new SessionStore(database);
  const checkpoints = new CheckpointStore(database);
  const chats = new ChatStore(database);
  const locks = new KeyedQueue();
  const memory = new SessionMemory({
    directory: options.memoryDirectory,
    write: options.writeMemory,
    logger: options.logger,
  });
  sessions.prune(Date.now() - options.keepDays * dayMs);
  chats.prune(Date.now() - options.keepDays * dayMs);
  checkpoints.prune(Date.now() - checkpointDays * dayMs);
  await memory.load();
  return {
    sessions,
    checkpoints,
    locks,
    memory,
    chats,
    async close() {
      await withinLimit(locks.idle());
      await memory.settled();
      database.close();
    },
  };
}

/** A task that was cancelled while it waited will not be answered. */
export function forgetCanceled({ checkpoints }: Pick<TurnState, 'checkpoints'>) {
  return {
    turnEnded({ id, state }: { id: string; state: string }) {
      if (state === 'canceled') checkpoints.delete(id);
    },
  };
}

async function withinLimit(work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stopLimitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
