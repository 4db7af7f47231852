import type { Logger } from '@trunkline/config';
import { type Origin, parseOrigins } from '@trunkline/identity';
import { runTurn } from '@trunkline/loop';
import { BoundedMap, Mutex } from '@trunkline/std';
import type { Database } from '@trunkline/storage';
import { spokenText } from '../call/speaking/speech-text.ts';
import { languageOf } from '../languages/languages.ts';
import type { SessionRegistry, VoiceSession } from '../sessions/registry.ts';
import type { Model } from '../turn/persona.ts';
import type { DeliveryPolicy, DeliveryPort, Notification } from './delivery.ts';

export interface DeliveryControllerDeps {
  sessions: SessionRegistry;
  pending: PendingStore;
  /** Shortens a text that was written to be read. Never rejects. */
  summarize(text: string): Promise<string>;
  logger: Logger;
}

const mostLive = 200;

/** Delivers notifications to sessions, and stores those of users who are not connected. */
export class DeliveryController implements DeliveryPort {
  readonly #deps: DeliveryControllerDeps;
  /** The session that speaks a notification, by notification id. */
  readonly #offered = new Map<number, VoiceSession>();
  /** Tool results that were not heard yet, by notification id. */
  readonly #live = new BoundedMap<number, Notification>(mostLive);

  constructor(deps: DeliveryControllerDeps) {
    const { sessions } = deps;
    this.#deps = deps;
    sessions.onOpen((session) => this.#replay(session));
    sessions.onClose((session) => this.#handOver(session));
  }

  /** Without a user the newest session gets it, else whoever connects next. */
  deliver(userId: string | undefined, notification: Notification): boolean {
    const { sessions, pending } = this.#deps;
    const session = sessions.latest(userId);
    const { id } = pending.add(session?.userId ?? userId ?? anyone, notification);
    this.#keepLive(id, notification);
    if (session === undefined) return false;
    this.#offer(session, { ...notification, id });
    return true;
  }

  /** Keeps what the database cannot: until a restart a result can be withdrawn, and announced by the model. */
  #keepLive(id: number, notification: Notification): void {
    if (notification.outcome === undefined) return;
    this.#live.set(id, notification);
    notification.withdrawn?.addEventListener('abort', () => this.#remove(id), { once: true });
  }

  /** A user's second session does not repeat what the first is about to say. */
  #replay(session: VoiceSession): void {
    for (const notification of this.#deps.pending.waitingFor(session.userId)) {
      if (!this.#offered.has(notification.id))
        this.#offer(session, { ...this.#live.get(notification.id), ...notification });
    }
  }

  /** A caller who reconnected before the broken line was noticed hears what that line did not say. */
  #handOver(closed: VoiceSession): void {
    for (const [id, holder] of this.#offered) if (holder === closed) this.#offered.delete(id);
    const heir = this.#deps.sessions.latest(closed.userId);
    if (heir !== undefined) this.#replay(heir);
  }

  #offer(session: VoiceSession, { id, ...notification }: PendingNotification): void {
    const { from, text, outcome, heard } = notification;
    this.#offered.set(id, session);
    const spoken = () => {
      this.#remove(id);
      heard?.();
    };
    const { says } = (session.language ?? languageOf('en')).notifications;
    const offer = (body: string) => {
      const words = says.replace(/\{(from|text)\}/g, (_, name) => (name === 'from' ? from : body));
      session.offer({ ...notification, words, spoken });
    };
    if (outcome === undefined && isReport(text)) void this.#deps.summarize(text).then(offer);
    else offer(text);
  }

  #remove(id: number): void {
    const { pending, logger } = this.#deps;
    this.#offered.delete(id);
    this.#live.delete(id);
    try {
      pending.remove(id);
    } catch (error) {
      logger.error({ err: error, id }, 'failed to remove notification; it will be spoken again');
    }
  }
}

/** User id of notifications for whoever connects next. */
const anyone = '*';

interface PendingNotification extends Notification {
  id: number;
}

interface Row {
  id: number;
  sender: string;
  text: string;
  policy: DeliveryPolicy;
  /** A JSON list; null in rows of older versions. */
  origins: string | null;
}

const mostPerUser = 100;
const longestText = 20_000;

/** Notifications that nobody has heard yet; they survive a restart. */
export class PendingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Keeps the newest hundred of each user. */
  add(userId: string, { from, text, policy, origins = [] }: Notification): PendingNotification {
    const short = text.slice(0, longestText);
    const { lastInsertRowid } = this.#database
      .prepare(
        'INSERT INTO deliveries (user_id, sender, text, policy, created_at, origins) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(userId, from, short, policy, Date.now(), JSON.stringify(origins));
    this.#dropOldest(userId);
    return { id: lastInsertRowid, from, text: short, policy, origins };
  }

  /** Oldest first. */
  waitingFor(userId: string): PendingNotification[] {
    const rows = this.#database
      .prepare<Row>(
        'SELECT id, sender, text, policy, origins FROM deliveries WHERE user_id IN (?, ?) ORDER BY id',
      )
      .all(userId, anyone);
    return rows.map(({ id, sender: from, text, policy, origins }) => ({
      id,
      from,
      text,
      policy,
      origins: origins === null ? pushedBy(from) : parseOrigins(JSON.parse(origins)),
    }));
  }

  remove(id: number): void {
    this.#database.prepare('DELETE FROM deliveries WHERE id = ?').run(id);
  }

  #dropOldest(userId: string): void {
    this.#database
      .prepare(
        `DELETE FROM deliveries WHERE user_id = ? AND id NOT IN
           (SELECT id FROM deliveries WHERE user_id = ? ORDER BY id DESC LIMIT ${mostPerUser})`,
      )
      .run(userId, userId);
  }
}

/** The origins of what another agent pushed. */
export function pushedBy(sender: string): Origin[] {
  return [{ kind: 'callback', source: sender }];
}

export interface SummaryDeps {
  /** Undefined with the demo model, which cannot summarize. */
  model(): Model | undefined;
  logger: Logger;
}

/** About half a minute of speech. */
const longestWords = 80;
const limits = { steps: 1, toolTimeoutMs: 1000, turnTimeoutMs: 20_000 };
const instructions = `You tell someone by voice what a report says that they have asked for.
Give its main findings in at most five plain spoken sentences. Add nothing that it does not say.
Do not mention headings, lists, numbers of sources or addresses.`;

/** Whether a text was written to be read: it is long or has headings. */
function isReport(text: string): boolean {
  return wordCount(text) > longestWords || /^#{1,6}\s/m.test(text);
}

const mostCached = 100;

/**
 * Shortens a report to its main points, or to its beginning where no model can summarize. Reports are summarized one
 * after the other, and each once, however many wait for a caller and however often the caller reconnects.
 */
export function createReportSummarizer(deps: SummaryDeps): (text: string) => Promise<string> {
  const cached = new BoundedMap<string, Promise<string>>(mostCached);
  const oneAtATime = new Mutex();
  return (text) => {
    const known = cached.get(text);
    if (known !== undefined) return known;
    const summary = oneAtATime.run(() => summarize(text, deps));
    cached.set(text, summary);
    return summary;
  };
}

async function summarize(text: string, { model, logger }: SummaryDeps): Promise<string> {
  try {
    const summarizer = model();
    return summarizer === undefined ? beginningOf(text) : await askModel(summarizer, text);
  } catch (error) {
    logger.warn({ err: error }, 'failed to summarize report; reading its beginning');
    return beginningOf(text);
  }
}

async function askModel(model: Model, text: string): Promise<string> {
  const messages = [{ role: 'user' as const, content: text }];
  const signal = AbortSignal.timeout(limits.turnTimeoutMs);
  const turn = { model, instructions, tools: [], messages, limits, sessionId: 'briefing', signal };
  for await (const event of runTurn(turn)) {
    if (event.type === 'end' && event.text.trim() !== '') return event.text;
    if (event.type === 'error') throw new Error(event.message);
  }
  throw new Error('the model gave no summary');
}

function beginningOf(text: string): string {
  const prose = text.replace(/^#+\s*sources\s*$[\s\S]*/im, '').replace(/^#.*$/gm, '');
  const sentences = spokenText(prose).split(/(?<=[.!?])\s+/);
  const kept: string[] = [];
  for (const sentence of sentences) {
    if (kept.length > 0 && wordCount([...kept, sentence].join(' ')) > longestWords) break;
    kept.push(sentence);
  }
  return `${kept.join(' ')} There is more of it to read.`;
}

function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
