import { join } from 'node:path';
import { type Task, type TaskObserver, textOf } from '@trunkline/a2a';
import type { Logger } from '@trunkline/config';
import { formatSseFrame } from '@trunkline/http';
import { maySee, ownerFilter, ownerKey, type Principal } from '@trunkline/identity';
import { type Database, openDatabase } from '@trunkline/storage';
import { taskText } from '../turns/converse.ts';

/** The conversation that the agent has with itself: what comes in urgently starts a turn in it. */
const activityContext = 'system:activity';

/** The operator and people have one of their own each: what they send does not stand in the prompt of others. */
export function activityContextOf(sender: Principal): string {
  const isPerson = sender.kind === 'operator' || sender.kind === 'person' || sender.kind === 'approver';
  return isPerson ? `${activityContext}:${ownerKey(sender)}` : activityContext;
}

export function isActivityContext(contextId: string): boolean {
  return contextId === activityContext || contextId.startsWith(`${activityContext}:`);
}

const migrations = [
  `CREATE TABLE model_call (
     number INTEGER PRIMARY KEY,
     at INTEGER NOT NULL,
     model TEXT NOT NULL,
     failed INTEGER NOT NULL,
     input_tokens INTEGER NOT NULL,
     output_tokens INTEGER NOT NULL,
     cost_usd REAL,
     latency_ms REAL NOT NULL
   ) STRICT;
   CREATE INDEX model_call_by_time ON model_call (at);
   CREATE INDEX model_call_by_model ON model_call (model, number);
   CREATE TABLE told (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     at TEXT NOT NULL,
     event TEXT NOT NULL,
     data TEXT NOT NULL
   ) STRICT;`,
  `ALTER TABLE told ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
   CREATE INDEX told_by_owner ON told (owner, id);`,
  'ALTER TABLE model_call ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;',
];

/** A turn that nobody in a conversation asked for, as the public feed shows it. */
interface ActivityMessage {
  role: 'user' | 'assistant';
  text: string;
  context_id: string;
  /** What started it: `inbox`, `scheduler`. */
  origin: string;
  /** The item or job that did. */
  trigger: string | null;
  priority: string | null;
}

interface InboxNotice {
  id: string;
  priority: string;
  source: string | null;
  text: string;
}

type Published =
  | { event: 'activity.message'; data: ActivityMessage }
  | { event: 'inbox.item'; data: InboxNotice };

/** A published event with its number and its time. */
export type FeedEvent = { id: number; at: string } & Published;

type Listener = (frame: Uint8Array) => void;
type StoredEvent = { id: number; at: string; event: string; data: string };

/** Of one owner. */
const maxStored = 5000;
/** Old events are looked for once in so many. */
const trimEvery = 100;

/** Publishes events to readers of `/api/events` who may see them, and stores them; each frame is formatted once. */
export class ActivityFeed {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #listeners = new Map<Listener, Principal>();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Published events, the newest first; with `before` those older than that event. */
  events(viewer: Principal, limit: number, before = Number.MAX_SAFE_INTEGER): FeedEvent[] {
    const { sql, values } = ownerFilter(viewer);
    return this.#database
      .prepare<StoredEvent>(
        `SELECT id, at, event, data FROM told WHERE ${sql} AND id < ? ORDER BY id DESC LIMIT ?`,
      )
      .all(...values, before, limit)
      .map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(data) }) as FeedEvent);
  }

  /** Returns the function that ends the subscription. */
  subscribe(viewer: Principal, listener: Listener): () => void {
    this.#listeners.set(listener, viewer);
    return () => this.#listeners.delete(listener);
  }

  /** Readers get an event even when it cannot be stored; it then has no number. */
  publish({ event, data: message }: Published, owner = 'anonymous'): void {
    const data = JSON.stringify(message);
    const id = this.#store(event, data, owner);
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame({ event, data, ...(id !== undefined && { id: String(id) }) }));
    for (const [listener, viewer] of this.#listeners) if (maySee(viewer, owner)) listener(frame);
  }

  #store(event: FeedEvent['event'], data: string, owner: string): number | undefined {
    try {
      const { lastInsertRowid } = this.#database
        .prepare('INSERT INTO told (at, event, data, owner) VALUES (?, ?, ?, ?)')
        .run(new Date().toISOString(), event, data, owner);
      if (lastInsertRowid % trimEvery === 0)
        this.#database
          .prepare(
            `DELETE FROM told WHERE id IN (SELECT id FROM (
               SELECT id, row_number() OVER (PARTITION BY owner ORDER BY id DESC) AS age FROM told) WHERE age > ?)`,
          )
          .run(maxStored);
      return lastInsertRowid;
    } catch (error) {
      this.#logger.warn({ err: error, event }, 'failed to store feed event');
      return undefined;
    }
  }
}

/** Says that somebody asks to be paired. Anybody may read the feed: who it is stands on the page "Trust" alone. */
export function pairingNotice(identity: string): Published {
  const [source = ''] = identity.split(':');
  const text = `Somebody unknown on ${source} asks to be paired. Look at the page "Trust", or run "npx trunkline users".`;
  return {
    event: 'inbox.item',
    data: { id: `pairing-${source}`, priority: 'next', source: 'pairing', text },
  };
}

/** The activity of one instance: calls of the model, and the events of its feed. */
export function openActivity(directory: string): Database {
  return openDatabase(join(directory, 'activity.db'), { migrations });
}

/** Puts turns that nobody in a conversation asked for into the feed of whoever planned or sent them. Conversations stay out of it. */
export function observeActivity(feed: ActivityFeed): TaskObserver {
  const show = (task: Task, role: ActivityMessage['role'], text: string) => {
    const source = sourceOf(task);
    if (source === undefined) return;
    const data = { role, text, context_id: task.contextId, ...source };
    feed.publish({ event: 'activity.message', data }, task.owner);
  };
  return {
    turnStarted: (task) => show(task, 'user', lastUserText(task)),
    turnEnded: (task) => show(task, 'assistant', taskText(task)),
  };
}

function sourceOf({
  contextId,
  metadata = {},
}: Task): Pick<ActivityMessage, 'origin' | 'trigger' | 'priority'> | undefined {
  if (metadata.scheduler_job_id !== undefined) {
    return { origin: 'scheduler', trigger: String(metadata.scheduler_job_id), priority: null };
  }
  if (!isActivityContext(contextId)) return undefined;
  const trigger = metadata.inbox_item_id;
  return {
    origin: trigger === undefined ? 'message' : 'inbox',
    trigger: trigger === undefined ? null : String(trigger),
    priority: trigger === undefined ? null : 'now',
  };
}

function lastUserText({ history }: Task): string {
  return textOf(history.findLast(({ role }) => role === 'user')?.parts ?? []);
}
