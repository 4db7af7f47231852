import type { Logger } from '@trunkline/config';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { VoiceSession } from '../sessions/session.ts';
import { isReport } from './briefing.ts';
import type { DeliveryPort, Notification } from './delivery.ts';
import { anyone, type PendingNotification, type PendingStore } from './pending-store.ts';

export interface DeliveryControllerDeps {
  sessions: SessionRegistry;
  pending: PendingStore;
  /** What is told of a text that was written to be read; never fails. */
  brief(text: string): Promise<string>;
  logger: Logger;
}

const mostLive = 200;

/** Brings news to sessions, and keeps what finds none until the user connects. */
export class DeliveryController implements DeliveryPort {
  readonly #deps: DeliveryControllerDeps;
  /** Notification that a session has and has not said yet, by their id. */
  readonly #offered = new Map<number, VoiceSession>();
  /** Results of tools that were not heard yet, by their id. */
  readonly #live = new Map<number, Notification>();

  constructor(deps: DeliveryControllerDeps) {
    const { sessions } = deps;
    this.#deps = deps;
    sessions.onOpen((session) => this.#replay(session));
    sessions.onClose((session) => this.#handOver(session));
  }

  /** Without a user the newest session hears it, else whoever connects next. */
  deliver(userId: string | undefined, news: Notification): boolean {
    const { sessions, pending } = this.#deps;
    const session = sessions.latest(userId);
    const { id } = pending.add(session?.userId ?? userId ?? anyone, news);
    this.#keepLive(id, news);
    if (session === undefined) return false;
    this.#offer(session, { ...news, id });
    return true;
  }

  /** What the database cannot hold: until a restart the news can be withdrawn and told by the model. */
  #keepLive(id: number, news: Notification): void {
    if (news.outcome === undefined) return;
    this.#live.set(id, news);
    news.withdrawn?.addEventListener('abort', () => this.#forget(id), { once: true });
    const [oldest] = this.#live.keys();
    if (this.#live.size > mostLive && oldest !== undefined) this.#live.delete(oldest);
  }

  /** A user's second session does not hear again what the first is about to say. */
  #replay(session: VoiceSession): void {
    for (const news of this.#deps.pending.waitingFor(session.userId)) {
      if (!this.#offered.has(news.id)) this.#offer(session, { ...this.#live.get(news.id), ...news });
    }
  }

  /** Whoever called again before the broken line was noticed hears what it did not say. */
  #handOver(closed: VoiceSession): void {
    for (const [id, holder] of this.#offered) if (holder === closed) this.#offered.delete(id);
    const heir = this.#deps.sessions.latest(closed.userId);
    if (heir !== undefined) this.#replay(heir);
  }

  #offer(session: VoiceSession, { id, ...news }: PendingNotification): void {
    this.#offered.set(id, session);
    const spoken = () => {
      this.#forget(id);
      news.heard?.();
    };
    const offer = (text: string) => session.offer({ ...news, words: `${news.from} says: ${text}`, spoken });
    if (news.outcome === undefined && isReport(news.text)) void this.#deps.brief(news.text).then(offer);
    else offer(news.text);
  }

  #forget(id: number): void {
    const { pending, logger } = this.#deps;
    this.#offered.delete(id);
    this.#live.delete(id);
    try {
      pending.remove(id);
    } catch (error) {
      logger.error({ err: error }, 'news that were told are still kept, and will be told again');
    }
  }
}
