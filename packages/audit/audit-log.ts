import { hash } from 'node:crypto';
import { join } from 'node:path';
import { hideSecrets } from '@trunkline/config';
import { type AuditEvent, principalName } from '@trunkline/identity';
import { type AuditEntry, type AuditVerification, errorMessage } from '@trunkline/std';
import { type Database, SharedDatabase } from '@trunkline/storage';

export interface AuditQuery {
  /** Only entries below this sequence. */
  before?: number | undefined;
  limit?: number | undefined;
  service?: string | undefined;
  /** Who asked, as `kind:id` or the id alone, or whoever handed it on: `person:user:ava`, `schedule:tea`. */
  principal?: string | undefined;
  action?: string | undefined;
  decision?: string | undefined;
  /** Text that stands in subject, rule, result or task. */
  search?: string | undefined;
}

export interface AuditLogOptions {
  home: string;
  /** Entries older than this are removed, the oldest first; the rest of the chain stays verifiable. */
  retentionDays?: number;
  /** Whether nothing with effects may be done while entries cannot be written. */
  isRequired?: boolean;
  logger: { error(fields: object, message: string): void };
  now?: () => number;
}

export const auditFile = (home: string): string => join(home, 'audit.db');

const DAY_MS = 24 * 3_600_000;
const DEFAULT_RETENTION_DAYS = 365;
const GENESIS = '0'.repeat(64);
const MAX_TEXT = 500;
const DEFAULT_LIMIT = 100;
const PAGE = 1000;
/** Only what was under way when the log failed still has effects. */
const MOST_UNWRITTEN = 1000;
/** A line has some 500 bytes, and each commit writes whole pages. */
const PAGE_BYTES = 1024;

/**
 * The audit log of an installation. Every process of it appends to the same file: the write lock of SQLite orders the
 * chain.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #file: SharedDatabase;
  #prunedAt = 0;
  /** Entries that could not be written, the oldest first. */
  readonly #unwritten: { event: AuditEvent; now: number }[] = [];
  /** Whether the last entry could be written; unknown, and so tried before the first effect, when the process starts. */
  #isWritable = false;
  /** The newest entry, if nobody else has written since the file was opened. */
  #head: { database: Database; last: Link } | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#file = new SharedDatabase(auditFile(options.home), migrations, { pageSize: PAGE_BYTES });
  }

  /** Appends, or throws. */
  append(event: AuditEvent, now = this.#now()): AuditEntry {
    const database = this.#open(now);
    const fields = toFields(event, now);
    const next = this.#head?.database === database ? chain(this.#head.last, fields) : undefined;
    const entry = next && insert(database, next) ? next : appendBehindOthers(database, fields);
    this.#head = { database, last: entry };
    return entry;
  }

  /**
   * Appends. What fails has already happened: the log of the service says so, and the entry is kept, with the time when
   * it happened, and written before the next one.
   */
  record(event: AuditEvent): void {
    const now = this.#now();
    try {
      this.#appendUnwritten();
      this.append(event, now);
      this.#isWritable = true;
    } catch (error) {
      this.#isWritable = false;
      if (this.#unwritten.length < MOST_UNWRITTEN) this.#unwritten.push({ event, now });
      const { action } = event;
      this.#options.logger.error(
        { err: error, action, waiting: this.#unwritten.length },
        'failed to write the audit log',
      );
    }
  }

  /** Why nothing with effects may be done now; looked at again with every call as long as it is so. */
  refusal(): string | undefined {
    if (this.#isWritable || this.#options.isRequired !== true) return undefined;
    try {
      this.#appendUnwritten();
      // Nothing is changed, but it has to be written: a full disk is noticed before an effect.
      this.#open().prepare('UPDATE anchor SET sequence = sequence').run();
      this.#isWritable = true;
      return undefined;
    } catch (error) {
      return `the audit log ${this.#file.file} cannot be written (${errorMessage(error)}), and nothing with effects is done without an entry; free space on the disk or mend the rights of the file, or set AUDIT_REQUIRED=off`;
    }
  }

  #appendUnwritten(): void {
    for (let next = this.#unwritten[0]; next !== undefined; next = this.#unwritten[0]) {
      this.append(next.event, next.now);
      this.#unwritten.shift();
    }
  }

  /** The newest first. */
  list(query: AuditQuery = {}): AuditEntry[] {
    const filters: [string, string | number | undefined][] = [
      ['sequence < ?', query.before],
      ['service = ?', query.service],
      [CHAIN_SQL, query.principal],
      ['action = ?', query.action],
      ['decision = ?', query.decision],
      [SEARCH_SQL, query.search?.toLowerCase()],
    ];
    const used = filters.filter(([, value]) => value !== undefined && value !== '');
    const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')}`;
    return this.#open()
      .prepare<Row>(`SELECT * FROM entries ${where} ORDER BY sequence DESC LIMIT ?`)
      .all(...used.map(([, value]) => value as string | number), query.limit ?? DEFAULT_LIMIT)
      .map(toEntry);
  }

  /** Every entry, the oldest first, in pages, so that a long log does not hold up the service. */
  async *pages(): AsyncGenerator<AuditEntry[]> {
    for (let after = 0; ; ) {
      const page = this.#open().prepare<Row>(PAGE_SQL).all(after, PAGE).map(toEntry);
      if (page.length === 0) return;
      yield page;
      after = page.at(-1)?.sequence ?? after;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async verify(): Promise<AuditVerification> {
    let last: Link = anchorOf(this.#open());
    let entries = 0;
    for await (const page of this.pages()) {
      for (const entry of page) {
        const expected = chain(last, entry);
        if (entry.sequence !== expected.sequence || entry.hash !== expected.hash)
          return { entries, head: last.hash, brokenAt: entry.sequence };
        last = entry;
        entries += 1;
      }
    }
    return { entries, head: last.hash };
  }

  #open(now = this.#now()): Database {
    const database = this.#file.open();
    this.#prune(database, now);
    return database;
  }

  /** Frees the file until the next use. */
  close(): void {
    this.#file.close();
  }

  #prune(database: Database, now: number): void {
    if (now - this.#prunedAt < DAY_MS) return;
    this.#prunedAt = now;
    const { retentionDays = DEFAULT_RETENTION_DAYS } = this.#options;
    const oldest = new Date(now - retentionDays * DAY_MS).toISOString();
    database.transaction(() => {
      const last = database
        .prepare<Link>('SELECT sequence, hash FROM entries WHERE at < ? ORDER BY sequence DESC LIMIT 1')
        .get(oldest);
      if (last === undefined) return;
      database.prepare('UPDATE anchor SET sequence = ?, hash = ?').run(last.sequence, last.hash);
      database.prepare('DELETE FROM entries WHERE sequence <= ?').run(last.sequence);
    });
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

type Fields = Omit<AuditEntry, 'sequence' | 'previous' | 'hash'>;
type Link = Pick<AuditEntry, 'sequence' | 'hash'>;
type Row = Omit<AuditEntry, 'via'> & { via: string };

const columns = [
  'sequence',
  'at',
  'service',
  'action',
  'subject',
  'principal',
  'via',
  'argumentsHash',
  'decision',
  'rule',
  'result',
  'task',
  'previous',
  'hash',
] as const satisfies (keyof AuditEntry)[];

const migrations = [
  `
  CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY, at TEXT NOT NULL, service TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
    principal TEXT NOT NULL, via TEXT NOT NULL, argumentsHash TEXT, decision TEXT, rule TEXT, result TEXT, task TEXT,
    previous TEXT NOT NULL, hash TEXT NOT NULL
  ) STRICT;
  CREATE TABLE anchor (sequence INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
  INSERT INTO anchor VALUES (0, '${GENESIS}');
  CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
  CREATE TRIGGER entries_are_removed_from_the_oldest_on BEFORE DELETE ON entries
    WHEN OLD.sequence > (SELECT sequence FROM anchor)
    BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
  `,
];

const LAST_SQL = 'SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1';
const PAGE_SQL = 'SELECT * FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?';
/** Writes nothing where another process has used the sequence, or has removed entries up to it. */
const INSERT_SQL = `INSERT INTO entries (${columns.join(', ')}) SELECT ${columns.map((_, index) => `?${index + 1}`).join(', ')}
  WHERE ?1 > (SELECT sequence FROM anchor) ON CONFLICT (sequence) DO NOTHING`;
const CHAIN_SQL = `? IN (SELECT value FROM json_each(via) UNION ALL SELECT principal UNION ALL SELECT substr(principal, instr(principal, ':') + 1))`;
const SEARCH_SQL = `instr(lower(subject || ' ' || ifnull(rule, '') || ' ' || ifnull(result, '') || ' ' || ifnull(task, '')), ?) > 0`;

/** One statement, so no transaction has to be opened and closed around it. False: the entry does not fit the file. */
function insert(database: Database, entry: AuditEntry): boolean {
  const { sequence, at, service, action, subject, principal, via, argumentsHash } = entry;
  const { decision, rule, result, task, previous, hash: own } = entry;
  const { changes } = database
    .prepare(INSERT_SQL)
    .run(
      sequence,
      at,
      service,
      action,
      subject,
      principal,
      JSON.stringify(via),
      argumentsHash,
      decision,
      rule,
      result,
      task,
      previous,
      own,
    );
  return changes === 1;
}

function appendBehindOthers(database: Database, fields: Fields): AuditEntry {
  return database.transaction(() => {
    const entry = chain(database.prepare<Link>(LAST_SQL).get() ?? anchorOf(database), fields);
    insert(database, entry);
    return entry;
  });
}

/** What the first entry that is still there follows. */
function anchorOf(database: Database): Link {
  return database.prepare<Link>('SELECT sequence, hash FROM anchor').get() ?? { sequence: 0, hash: GENESIS };
}

function toFields(event: AuditEvent, now: number): Fields {
  const { principal, subject, rule, result, task } = event;
  // One look at all texts: hardly any line holds a secret.
  const whole = `${subject}\n${rule}\n${result}\n${task}`;
  const hide = hideSecrets(whole) === whole ? (text: string) => text : hideSecrets;
  return {
    at: new Date(now).toISOString(),
    service: event.service,
    action: event.action,
    subject: cut(subject, hide) ?? '',
    principal: principalName(principal),
    via: [...principal.via],
    argumentsHash: event.arguments === undefined ? null : sha256(JSON.stringify(event.arguments) ?? ''),
    decision: event.decision ?? null,
    rule: cut(rule, hide),
    result: cut(result, hide),
    task: cut(task, hide),
  };
}

function cut(given: string | undefined, hide: (text: string) => string): string | null {
  if (given === undefined) return null;
  const text = hide(given);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text;
}

function chain({ sequence: before, hash: previous }: Link, fields: Fields): AuditEntry {
  const { at, service, action, subject, principal, via, argumentsHash, decision, rule, result, task } =
    fields;
  const sequence = before + 1;
  const rest = [argumentsHash, decision, rule, result, task, previous];
  const own = sha256(JSON.stringify([sequence, at, service, action, subject, principal, via, ...rest]));
  return { ...fields, sequence, previous, hash: own };
}

function toEntry(row: Row): AuditEntry {
  return { ...row, via: JSON.parse(row.via) as string[] };
}

function sha256(text: string): string {
  return hash('sha256', text);
}
