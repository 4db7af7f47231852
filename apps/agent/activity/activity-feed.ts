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

/** Something that was told, with its number and its time. */
export interface ToldEvent {
  id: number;
  at: string;
  event: 'activity.message' | 'inbox.item';
  data: ActivityMessage | InboxNotice;
}

type Listener = (frame: Uint8Array) => void;
type StoredEvent = Omit<ToldEvent, 'data'> & { data: string };

const mostKept = 5000;
/** Old events are looked for once in so many. */
const trimEvery = 100;

/** Tells every reader of `/api/events` what happens, and keeps it; each frame is formatted once. */
export class ActivityFeed {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #listeners = new Set<Listener>();

  constructor(database: Database, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  /** What was told before an event, or lately; the newest first. */
  told(limit: number, before = Number.MAX_SAFE_INTEGER): ToldEvent[] {
    return this.#database
      .prepare<StoredEvent>('SELECT id, at, event, data FROM told WHERE id < ? ORDER BY id DESC LIMIT ?')
      .all(before, limit)
      .map(({ data, ...told }) => ({ ...told, data: JSON.parse(data) as ToldEvent['data'] }));
  }

  message(message: ActivityMessage): void {
    this.#tell('activity.message', message);
  }

  inboxItem(item: InboxNotice): void {
    this.#tell('inbox.item', item);
  }

  /** Gives back what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Readers are told even when it cannot be kept; they then see no number. */
  #tell(event: ToldEvent['event'], message: ToldEvent['data']): void {
    const data = JSON.stringify(message);
    const id = this.#keep(event, data);
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame({ event, data, ...(id !== undefined && { id: String(id) }) }));
    for (const listener of this.#listeners) listener(frame);
  }

  #keep(event: ToldEvent['event'], data: string): number | undefined {
    try {
      const { lastInsertRowid } = this.#database
        .prepare('INSERT INTO told (at, event, data) VALUES (?, ?, ?)')
        .run(new Date().toISOString(), event, data);
      if (lastInsertRowid % trimEvery === 0)
        this.#database.prepare('DELETE FROM told WHERE id <= ?').run(lastInsertRowid - mostKept);
      return lastInsertRowid;
    } catch (error) {
      this.#logger.warn({ error, event }, 'an event of the feed was told but not kept');
      return undefined;
    }
  }
}
