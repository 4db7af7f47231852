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

type Listener = (frame: Uint8Array) => void;

/** Tells every reader of `/api/events` what happens; each frame is formatted once. */
export class ActivityFeed {
  readonly #listeners = new Set<Listener>();

  message(message: ActivityMessage): void {
    this.#send({ event: 'activity.message', data: JSON.stringify(message) });
  }

  inboxItem(item: InboxNotice): void {
    this.#send({ event: 'inbox.item', data: JSON.stringify(item) });
  }

  /** Gives back what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #send(event: SseEvent): void {
    if (this.#listeners.size === 0) return;
    const frame = Buffer.from(formatSseFrame(event));
    for (const listener of this.#listeners) listener(frame);
  }
}
