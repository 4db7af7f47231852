import { formatSseFrame, type SseEvent } from '@trunkline/http';

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

const mostKept = 500;

/** Tells every reader of `/api/events` what happens; each frame is formatted once. */
export class ActivityFeed {
  readonly #listeners = new Set<Listener>();
  #recent: ToldEvent[] = [];
  #number = 0;

  /** What was told since the start, the newest last; only so many are kept. */
  get recent(): readonly ToldEvent[] {
    return this.#recent;
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

  #tell(event: ToldEvent['event'], data: ToldEvent['data']): void {
    this.#number += 1;
    const told = { id: this.#number, at: new Date().toISOString(), event, data };
    this.#recent = [...this.#recent, told].slice(-mostKept);
    this.#send({ id: String(told.id), event, data: JSON.stringify(data) });
  }

  #send(event: SseEvent): void {
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame(event));
    for (const listener of this.#listeners) listener(frame);
  }
}
