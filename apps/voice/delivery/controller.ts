import type { SessionRegistry } from '../sessions/registry.ts';
import type { VoiceSession } from '../sessions/session.ts';
import { isReport } from './briefing.ts';
import type { DeliveryPort, News } from './delivery.ts';
import { anyone, type Stash, type StashedNews } from './stash.ts';

/** Brings news to sessions, and keeps what finds none until the user connects. */
export class DeliveryController implements DeliveryPort {
  readonly #sessions: SessionRegistry;
  readonly #stash: Stash;
  /** News that a session has and has not said yet, by their id. */
  readonly #offered = new Map<number, VoiceSession>();

  readonly #brief: (text: string) => Promise<string>;

  /** What was written to be read is told as `brief` puts it. */
  constructor(sessions: SessionRegistry, stash: Stash, brief: (text: string) => Promise<string>) {
    this.#brief = brief;
    this.#sessions = sessions;
    this.#stash = stash;
    sessions.onOpen((session) => this.#replay(session));
    sessions.onClose((session) => this.#handOver(session));
  }

  /** Without a user the newest session hears it, else whoever connects next. */
  deliver(userId: string | undefined, news: News): boolean {
    const session = this.#sessions.latest(userId);
    const kept = this.#stash.add(session?.userId ?? userId ?? anyone, news);
    if (session === undefined) return false;
    this.#offer(session, kept);
    return true;
  }

  /** A user's second session does not hear again what the first is about to say. */
  #replay(session: VoiceSession): void {
    for (const news of this.#stash.waitingFor(session.userId)) {
      if (!this.#offered.has(news.id)) this.#offer(session, news);
    }
  }

  /** Whoever called again before the broken line was noticed hears what it did not say. */
  #handOver(closed: VoiceSession): void {
    for (const [id, holder] of this.#offered) if (holder === closed) this.#offered.delete(id);
    const heir = this.#sessions.latest(closed.userId);
    if (heir !== undefined) this.#replay(heir);
  }

  #offer(session: VoiceSession, { id, ...news }: StashedNews): void {
    this.#offered.set(id, session);
    const spoken = () => {
      this.#offered.delete(id);
      this.#stash.remove(id);
    };
    const offer = (text: string) => session.offer({ ...news, words: `${news.from} says: ${text}`, spoken });
    if (isReport(news.text)) void this.#brief(news.text).then(offer);
    else offer(news.text);
  }
}
