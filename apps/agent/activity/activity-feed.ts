import type { Logger } from '@trunkline/config';
import { formatSseFrame } from '@trunkline/http';
import type { Database } from '@trunkline/storage';

/** A turn that nobody in a conversation asked for, as the public feed shows it. */
export interface ActivityMessage {
  role: 'user' | 'assistant';
  text: string;
  context_id: string;
  /** What started it: `inbox`, `scheduler`. */
  origin: string;
  /** The item or job that did. */
  trigger: string | null;
  priority: string | null;
}

export interface InboxNotice {
  id: string;
  priority: string;
  source: string | null;
  text: string;
}

/** A published event with its number and its time. */
export type FeedEvent = { id: number; at: string } & (
  | { event: 'activity.message'; data: ActivityMessage }
  | { event: 'inbox.item'; data: InboxNotice }
);

type Listener = (frame: Uint8Array) => void;
type StoredEvent = { id: number; at: string; event: string; data: string };

const maxStored = 5000;
/** Old events are looked for once in so many. */
const trimEvery = 100;

/** Publishes events to every reader of `/api/events` and stores them; each frame is formatted once. */
export class ActivityFeed {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #listeners = new Set<Listener>();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** Published events, the newest first; with `before` those older than that event. */
  events(limit: number, before = Number.MAX_SAFE_INTEGER): FeedEvent[] {
    return this.#database
      .prepare<StoredEvent>('SELECT id, at, event, data FROM told WHERE id < ? ORDER BY id DESC LIMIT ?')
      .all(before, limit)
      .map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(data) }) as FeedEvent);
  }

  message(message: ActivityMessage): void {
    this.#publish('activity.message', message);
  }

  inboxItem(item: InboxNotice): void {
    this.#publish('inbox.item', item);
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Readers get an event even when it cannot be stored; it then has no number. */
  #publish(event: FeedEvent['event'], message: FeedEvent['data']): void {
    const data = JSON.stringify(message);
    const id = this.#store(event, data);
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame({ event, data, ...(id !== undefined && { id: String(id) }) }));
    for (const listener of this.#listeners) listener(frame);
  }

  #store(event: FeedEvent['event'], data: string): number | undefined {
    try {
      const { lastInsertRowid } = this.#database
        .prepare('INSERT INTO told (at, event, data) VALUES (?, ?, ?)')
        .run(new Date().toISOString(), event, data);
      if (lastInsertRowid % trimEvery === 0)
        this.#database.prepare('DELETE FROM told WHERE id <= ?').run(lastInsertRowid - maxStored);
      return lastInsertRowid;
    } catch (error) {
      this.#logger.warn({ error, event }, 'failed to store feed event');
      return undefined;
    }
  }
}
