import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@trunkline/config';
import { Responses } from '@trunkline/openai-api';
import { KeyedQueue } from '@trunkline/std';
import { type Database, openDatabase } from '@trunkline/storage';
import { ChatStore } from '../chats/chat-store.ts';
import { CheckpointStore } from './checkpoint-store.ts';
import { RunningTurns } from './running-turns.ts';
import { SessionMemory } from './session-memory.ts';
import { SessionStore } from './session-store.ts';

export interface TurnStateOptions {
  directory: string;
  memoryDirectory: string;
  /** False: session summaries are read but not written. */
  writeMemory: boolean;
  /** Conversations that rested longer than this are forgotten. */
  keepDays: number;
  /** Whether turns that the last process left unfinished go on. */
  resumeInterrupted: boolean;
  logger: Logger;
}

/** All that turns keep on disk, and the order in which they may run. */
export interface TurnState {
  sessions: SessionStore;
  checkpoints: CheckpointStore;
  /** Undefined where a restart ends what was running. */
  running: RunningTurns | undefined;
  locks: KeyedQueue;
  /** Writes of the stores at one go. */
  transaction<Result>(work: () => Result): Result;
  memory: SessionMemory;
  chats: ChatStore;
  /** Answers of `/v1/responses`. */
  responses: Responses;
  /** Waits for turns and writes under way, within a limit. */
  close(): Promise<void>;
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** A task can be answered for a day; its checkpoint lives a little longer. */
const checkpointDays = 2;
const stopLimitMs = 3000;

export async function openTurnState(options: TurnStateOptions): Promise<TurnState> {
  const database = openState(options.directory);
  const sessions = new SessionStore(database);
  const checkpoints = new CheckpointStore(database);
  const chats = new ChatStore(database);
  const responses = new Responses(join(options.directory, 'responses.db'));
  const locks = new KeyedQueue();
  const memory = new SessionMemory({
    directory: options.memoryDirectory,
    write: options.writeMemory,
    logger: options.logger,
  });
  const prune = () => {
    const rested = Date.now() - options.keepDays * dayMs;
    database.transaction(() => {
      sessions.prune(rested);
      chats.prune(rested);
      checkpoints.prune(Date.now() - checkpointDays * dayMs);
    });
  };
  prune();
  // A service that runs for months forgets as one that is started often.
  const pruning = setInterval(() => {
    try {
      prune();
    } catch (error) {
      options.logger.error({ err: error }, 'failed to delete old conversations; retrying');
    }
  }, hourMs).unref();
  const running = new RunningTurns(database);
  running.prune(options.resumeInterrupted ? Date.now() - checkpointDays * dayMs : Number.MAX_SAFE_INTEGER);
  await memory.load();
  return {
    sessions,
    checkpoints,
    running: options.resumeInterrupted ? running : undefined,
    locks,
    transaction: (work) => database.transaction(work),
    memory,
    chats,
    responses,
    async close() {
      clearInterval(pruning);
      await Promise.race([locks.idle(), sleep(stopLimitMs, undefined, { ref: false })]);
      await memory.settled();
      responses.close();
      database.close();
    },
  };
}

/** A task that was cancelled will neither be answered nor go on; one that ended otherwise leaves no steps behind. */
export function forgetEnded({ checkpoints, running }: Pick<TurnState, 'checkpoints' | 'running'>) {
  return {
    turnEnded({ id, state }: { id: string; state: string }) {
      if (state !== 'canceled') return running?.settle(id);
      checkpoints.delete(id);
      running?.delete(id);
    },
  };
}

const migrations = [
  `CREATE TABLE checkpoint (
     task_id TEXT PRIMARY KEY,
     checkpoint TEXT NOT NULL,
     session_version INTEGER NOT NULL,
     skill TEXT,
     saved_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE session (
     session_id TEXT PRIMARY KEY,
     messages TEXT NOT NULL,
     version INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX session_by_time ON session (updated_at);`,
  `CREATE TABLE chat (
     session_id TEXT PRIMARY KEY,
     title TEXT NOT NULL,
     state TEXT NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX chat_by_time ON chat (updated_at, session_id);
   CREATE TABLE chat_turn (
     number INTEGER PRIMARY KEY,
     task_id TEXT NOT NULL UNIQUE,
     session_id TEXT NOT NULL,
     turn TEXT NOT NULL
   ) STRICT;
   CREATE INDEX chat_turn_by_session ON chat_turn (session_id, number);`,
  `ALTER TABLE chat ADD COLUMN origin TEXT NOT NULL DEFAULT 'chat';`,
  `ALTER TABLE checkpoint ADD COLUMN principal TEXT;
   ALTER TABLE checkpoint ADD COLUMN user TEXT;
   ALTER TABLE checkpoint ADD COLUMN approval TEXT;
   ALTER TABLE session ADD COLUMN scope TEXT;`,
  // A conversation has the owner that its other things have; that of a caller without a key was its own.
  `UPDATE session SET scope = 'operator' WHERE scope IS NULL;
   UPDATE session SET scope = 'anonymous' WHERE scope LIKE 'context:%';
   UPDATE session SET scope = substr(scope, 1, instr(scope, '/user:') - 1) WHERE scope LIKE 'agent:%/user:%';
   ALTER TABLE chat ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';
   UPDATE chat SET owner = coalesce((SELECT scope FROM session WHERE session.session_id = chat.session_id), 'operator');
   CREATE INDEX chat_by_owner ON chat (owner, updated_at, session_id);`,
  // What a session held after each of its turns, and which of these each turn began with: a branch begins there.
  `CREATE TABLE session_version (
     session_id TEXT NOT NULL,
     version INTEGER NOT NULL,
     kept INTEGER NOT NULL,
     added TEXT NOT NULL,
     PRIMARY KEY (session_id, version)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE turn_start (
     task_id TEXT PRIMARY KEY,
     session_id TEXT NOT NULL,
     version INTEGER NOT NULL,
     ended INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX turn_start_by_session ON turn_start (session_id, version);
   CREATE TABLE chat_branch (
     session_id TEXT PRIMARY KEY,
     root TEXT NOT NULL,
     place TEXT NOT NULL,
     path TEXT NOT NULL,
     created_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX chat_branch_by_root ON chat_branch (root, created_at);
   ALTER TABLE chat ADD COLUMN head TEXT;`,
  'ALTER TABLE checkpoint ADD COLUMN timezone TEXT;',
  `CREATE TABLE chosen_model (
     session_id TEXT PRIMARY KEY,
     model TEXT NOT NULL,
     by_operator INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
  'ALTER TABLE turn_start ADD COLUMN asker TEXT;',
  // Turns under way, where CORE_INTERRUPTED_TASKS=resume.
  `CREATE TABLE running_turn (
     task_id TEXT PRIMARY KEY,
     turn TEXT NOT NULL,
     request TEXT NOT NULL,
     answer TEXT,
     outcome TEXT,
     attempts INTEGER NOT NULL DEFAULT 0,
     begun_at INTEGER NOT NULL,
     ended_at INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE turn_step (
     root TEXT NOT NULL,
     turn TEXT NOT NULL,
     position INTEGER NOT NULL,
     steps TEXT NOT NULL,
     PRIMARY KEY (root, turn, position)
   ) STRICT, WITHOUT ROWID;`,
];

/** What the turns of one instance keep: conversations, what people saw of them, and questions that wait. */
export function openState(directory: string): Database {
  return openDatabase(join(directory, 'turns.db'), { migrations });
}
