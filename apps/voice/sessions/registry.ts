import type { Delivery } from '../delivery/delivery.ts';
import type { Language } from '../languages/languages.ts';

/** Called for every session that opens or closes. */
export type SessionListener = (session: VoiceSession) => void;

/** The live connections, oldest first. */
export class SessionRegistry {
  readonly #sessions = new Set<VoiceSession>();
  readonly #opened: SessionListener[] = [];
  readonly #closed: SessionListener[] = [];

  onOpen(listener: SessionListener): void {
    this.#opened.push(listener);
  }

  onClose(listener: SessionListener): void {
    this.#closed.push(listener);
  }

  /** Adds a session; gives the way to take it out again. */
  open(session: VoiceSession): () => void {
    this.#sessions.add(session);
    for (const listener of this.#opened) listener(session);
    return () => {
      if (!this.#sessions.delete(session)) return;
      for (const listener of this.#closed) listener(session);
    };
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** How many users are connected. */
  get users(): number {
    return new Set([...this.#sessions].map(({ userId }) => userId)).size;
  }

  /** The newest session, of a user or of all. */
  latest(userId?: string): VoiceSession | undefined {
    return [...this.#sessions].findLast((session) => userId === undefined || session.userId === userId);
  }
}

/** A live voice connection, as the rest of the service knows it. */
export interface VoiceSession {
  readonly id: string;
  readonly userId: string;
  /** English if not given. */
  readonly language?: Language;
  /** Takes something to say under its policy; `spoken` of the delivery is called once it was heard. */
  offer(delivery: Delivery): void;
}
