import { randomUUID } from 'node:crypto';
import type { Bus, Message, Subscription } from '@trunkline/bus';
import { type Origin, ownerFilter, type Principal, parseOrigins } from '@trunkline/identity';
import { onBehalf, principalOf } from '../core/messages.ts';
import { Store } from '../core/store.ts';
import { fieldsOf, text } from '../dispatch/request.ts';

/** Limits of what goes to the model again. */
const recalledTurns = 30;

const mostCharacters = 24_000;

const mostTurns = 200;

export interface Turn {
  conversationId: string;
  agent: string;
  requestId: string;
  said: string;
  answered: string;
  at: number;
  /** What it has read from outside the operator's trust. */
  origins?: readonly Origin[] | undefined;
  /** What the words that were said were drawn from, where they are not the speaker's own. */
  saidOrigins?: readonly Origin[] | undefined;
  /** Who said it. */
  owner: string;
}

type TurnRow = Omit<Turn, 'origins' | 'saidOrigins'> & Record<'origins' | 'saidOrigins', string | null>;

export interface TurnQuery {
  conversationId?: string | undefined;
  agent?: string | undefined;
  limit: number;
  /** Who looks; all turns when left out. */
  viewer?: Principal | undefined;
}

/** The ids by which a remote agent knows a conversation. */
export interface RemotePlace {
  contextId?: string;
  taskId?: string;
}

interface TalkRow {
  key: string;
  conversationId: string;
  agent: string;
  until: number;
}

interface PlaceRow {
  conversationId: string;
  agent: string;
  contextId: string | null;
  taskId: string | null;
  at: number;
}

/** A row as it is written, for the other switchboards. */
export type ConversationEntry = { talk: TalkRow } | { turn: TurnRow } | { place: PlaceRow };

/** Resolves when others have the row, or when it is clear that they will not get it; never rejects. */
type EntryListener = (entry: ConversationEntry) => void | Promise<void>;

const keptMs = 7 * 24 * 60 * 60 * 1000;

const migrations = [
  `CREATE TABLE talks (key TEXT PRIMARY KEY, conversationId TEXT NOT NULL, agent TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
   CREATE TABLE turns (
     conversationId TEXT NOT NULL, agent TEXT NOT NULL, requestId TEXT NOT NULL, said TEXT NOT NULL, answered TEXT NOT NULL,
     at INTEGER NOT NULL, UNIQUE (conversationId, agent, requestId)) STRICT;
   CREATE INDEX turns_by_time ON turns (at);
   CREATE TABLE places (
     conversationId TEXT NOT NULL, agent TEXT NOT NULL, contextId TEXT, taskId TEXT, at INTEGER NOT NULL,
     PRIMARY KEY (conversationId, agent)) STRICT;`,
  // A JSON list.
  'ALTER TABLE turns ADD COLUMN origins TEXT;',
  // Of older turns nobody knows: what they have read counts for what was said as well.
  `ALTER TABLE turns ADD COLUMN saidOrigins TEXT;
   UPDATE turns SET saidOrigins = origins;`,
  `ALTER TABLE turns ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
   CREATE INDEX turns_by_owner ON turns (owner);`,
];

/** Conversations and their turns; deleted a week after the last message. */
export class ConversationStore extends Store {
  readonly #listeners = new Set<EntryListener>();

  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
  }

  /** The open conversation of these partners. */
  talk(key: string): { conversationId: string; agent: string } | undefined {
    return this.one<{ conversationId: string; agent: string }>(
      'SELECT conversationId, agent FROM talks WHERE key = ? AND until > ?',
      [key, this.now()],
    );
  }

  /** Extends the open conversation or starts one; returns its id. */
  hold(key: string, agent: string, lastsMs: number): string {
    const conversationId = this.talk(key)?.conversationId ?? randomUUID();
    void this.#add({ talk: { key, conversationId, agent, until: this.now() + lastsMs } });
    return conversationId;
  }

  /** A redelivered request is one turn. Resolves when it is shared, so that the next message can go to any switchboard. */
  addTurn({ origins, saidOrigins, ...turn }: Omit<Turn, 'at'>): Promise<void> {
    const [marks, saidMarks] = [origins, saidOrigins].map((list) => (list ? JSON.stringify(list) : null));
    const row = { ...turn, at: this.now(), origins: marks ?? null, saidOrigins: saidMarks ?? null };
    return this.#add({ turn: row });
  }

  keyOf(entry: ConversationEntry): string {
    if ('talk' in entry) return entry.talk.key;
    return 'turn' in entry ? entry.turn.conversationId : entry.place.conversationId;
  }

  /** Calls back with every row that is written here; returns a function that stops it. */
  onWrite(listener: EntryListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #add(entry: ConversationEntry): Promise<void> {
    this.take(entry);
    return Promise.all([...this.#listeners].map(async (tell) => await tell(entry))).then(() => undefined);
  }

  /** Writes a row of this switchboard or another, unless a later one is here: own rows come back from the others' journal. */
  take(entry: ConversationEntry): void {
    if ('talk' in entry) {
      const { key, conversationId, agent, until } = entry.talk;
      this.write(
        `INSERT INTO talks (key, conversationId, agent, until) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (key) DO UPDATE SET conversationId = ?2, agent = ?3, until = max(until, ?4)
           WHERE conversationId = ?2 OR until <= ?4`,
        [key, conversationId, agent, until],
      );
    } else if ('turn' in entry) {
      const { conversationId, agent, requestId, said, answered, at, origins, saidOrigins, owner } =
        entry.turn;
      this.write(
        `INSERT OR IGNORE INTO turns (conversationId, agent, requestId, said, answered, at, origins, saidOrigins, owner)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        [conversationId, agent, requestId, said, answered, at, origins, saidOrigins, owner],
      );
    } else {
      const { conversationId, agent, contextId, taskId, at } = entry.place;
      this.write(
        `INSERT INTO places (conversationId, agent, contextId, taskId, at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (conversationId, agent) DO UPDATE SET contextId = ?3, taskId = ?4, at = ?5 WHERE at <= ?5`,
        [conversationId, agent, contextId, taskId, at],
      );
    }
  }

  /** The newest turns, in the order in which they were said. */
  turns({ conversationId, agent, limit, viewer }: TurnQuery): Turn[] {
    const seen = viewer === undefined ? { sql: 'TRUE', values: [] } : ownerFilter(viewer);
    return this.all<TurnRow>(
      `SELECT * FROM turns WHERE ${seen.sql} AND conversationId = coalesce(?, conversationId) AND agent = coalesce(?, agent)
         ORDER BY at DESC, rowid DESC LIMIT ?`,
      [...seen.values, conversationId ?? null, agent ?? null, limit],
    )
      .map(({ origins, saidOrigins, ...turn }) => ({
        ...turn,
        ...(origins !== null && { origins: parseOrigins(JSON.parse(origins)) }),
        ...(saidOrigins !== null && { saidOrigins: parseOrigins(JSON.parse(saidOrigins)) }),
      }))
      .reverse();
  }

  recall(conversationId: string, agent: string): RemotePlace {
    const found = this.one<{ contextId: string | null; taskId: string | null }>(
      'SELECT contextId, taskId FROM places WHERE conversationId = ? AND agent = ?',
      [conversationId, agent],
    );
    return {
      ...(found?.contextId && { contextId: found.contextId }),
      ...(found?.taskId && { taskId: found.taskId }),
    };
  }

  keep(conversationId: string, agent: string, { contextId, taskId }: RemotePlace): void {
    const known = this.one<{ at: number }>('SELECT at FROM places WHERE conversationId = ? AND agent = ?', [
      conversationId,
      agent,
    ]);
    // Later than what it replaces, also by a clock that is slow.
    const at = Math.max(this.now(), (known?.at ?? 0) + 1);
    const place = { contextId: contextId ?? null, taskId: taskId ?? null, at };
    void this.#add({ place: { conversationId, agent, ...place } });
  }

  sweep(): void {
    const before = this.now() - keptMs;
    for (const table of ['turns', 'places']) this.write(`DELETE FROM ${table} WHERE at < ?`, [before]);
    this.write('DELETE FROM talks WHERE until < ?', [this.now()]);
  }
}

/** Answers `logger.turn.query {conversationId?, agent?, limit?}` at the reply topic of the message. */
export function startTurnLog(bus: Bus, store: ConversationStore): Promise<Subscription> {
  const handle = async (message: Message) => {
    const { payload, reply, correlationId, id: parentId } = message;
    const principal = principalOf(message);
    if (reply === undefined) throw new Error('logger.turn.query needs a reply topic for its answer.');
    const { conversationId, agent, limit } = fieldsOf(payload);
    const turns = store.turns({
      conversationId: text(conversationId),
      agent: text(agent),
      // What a key may ask and read stands in keys.yaml.
      viewer: principal.kind === 'agent' && principal.via.length === 0 ? undefined : principal,
      limit: Math.min(typeof limit === 'number' && limit >= 1 ? Math.floor(limit) : 50, mostTurns),
    });
    await bus.publish({
      topic: reply.topic,
      payload: { turns },
      correlationId,
      parentId,
      principal: onBehalf(message, 'switchboard'),
    });
  };
  return bus.subscribe('logger.turn.query', handle, { group: 'turn-log', plugin: 'turn-log' });
}

export interface TurnMemory {
  /** Of what others said in it, nothing is recalled for a viewer. */
  recall(conversationId: string, agent: string, viewer?: Principal): Turn[];
  note(turn: Omit<Turn, 'at'>): void | Promise<void>;
}

/** Recalls as many of the last turns as fit. */
export function createTurnMemory(store: ConversationStore): TurnMemory {
  return {
    recall: (conversationId, agent, viewer) =>
      fitting(store.turns({ conversationId, agent, viewer, limit: recalledTurns })),
    note: (turn) => store.addTurn(turn),
  };
}

function fitting(turns: Turn[]): Turn[] {
  let left = mostCharacters;
  const first = turns.findLastIndex(({ said, answered }) => {
    left -= said.length + answered.length;
    return left < 0;
  });
  return turns.slice(first + 1);
}
