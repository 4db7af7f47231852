import { ownerFilter, type Principal } from '@trunkline/identity';
import type { Flow, FlowOrigin, FlowStatus, TraceEntry } from '../api-types.ts';

import { SharedWrites, Store } from '../core/store.ts';

export interface FlowQuery {
  since?: number | undefined;
  status?: FlowStatus | undefined;
  limit: number;
  offset?: number;
  /** Who looks. */
  principal: Principal;
}

interface FlowStart extends FlowOrigin {
  skill: string;
  request: string;
  owner: string;
}

const keptMs = 7 * 24 * 60 * 60 * 1000;
const previewLength = 300;
/** Deleting this many blocks the process for a few milliseconds. */
const sweptAtOnce = 200;
/** A turn that calls tools without end must not fill the disk. */
const mostTraceEntries = 500;

const migrations = [
  `CREATE TABLE flows (
     id TEXT PRIMARY KEY, messageId TEXT NOT NULL UNIQUE, correlationId TEXT NOT NULL, type TEXT NOT NULL,
     status TEXT NOT NULL, stage TEXT NOT NULL, createdAt INTEGER NOT NULL, startedAt INTEGER, completedAt INTEGER,
     durationMs INTEGER, skill TEXT NOT NULL, executorType TEXT, targetAgent TEXT, errorPreview TEXT,
     updatedAt INTEGER NOT NULL) STRICT;
   CREATE INDEX flows_by_time ON flows (createdAt);
   CREATE TABLE trace (
     flowId TEXT NOT NULL REFERENCES flows (id) ON DELETE CASCADE, number INTEGER NOT NULL, at INTEGER NOT NULL,
     event TEXT NOT NULL, details TEXT NOT NULL, PRIMARY KEY (flowId, number)) STRICT, WITHOUT ROWID;`,
  'ALTER TABLE flows ADD COLUMN requestPreview TEXT',
  "CREATE INDEX flows_open ON flows (createdAt) WHERE status <> 'complete'",
  `ALTER TABLE flows ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
   CREATE INDEX flows_by_owner ON flows (owner, createdAt);
   CREATE INDEX flows_by_correlation ON flows (correlationId);`,
];

const columns =
  'id, type, status, stage, createdAt, startedAt, completedAt, durationMs, skill, requestPreview, executorType, targetAgent, errorPreview, updatedAt';

/** Dispatched requests with their traces; deleted after seven days. */
export class FlowStore extends Store {
  readonly #writes: SharedWrites;

  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
    this.#writes = new SharedWrites(this.database);
  }

  /** Several writes in one transaction, shared with those of other flows. */
  together<Result>(writes: () => Result): Promise<Result> {
    return this.#writes.run(writes);
  }

  /** Opens a flow, or returns that of a redelivered message. */
  open({ messageId, correlationId, skill, request, owner }: FlowStart): Flow {
    const plain = `skill-${correlationId}`;
    const now = this.now();
    const made = this.one<Flow>(
      `INSERT INTO flows (id, messageId, correlationId, type, status, stage, createdAt, skill, requestPreview, updatedAt, owner)
         VALUES (iif(EXISTS (SELECT 1 FROM flows WHERE id = ?1), ?2, ?1), ?3, ?4, 'skill', 'active', 'dispatched', ?5, ?6, ?7, ?5, ?8)
         ON CONFLICT (messageId) DO NOTHING RETURNING ${columns}`,
      [plain, `${plain}-${messageId}`, messageId, correlationId, now, skill, previewOf(request), owner],
    );
    return made ?? (this.#byMessage(messageId) as Flow);
  }

  start(id: string, executorType: string, targetAgent: string): Flow | undefined {
    return this.one<Flow>(
      `UPDATE flows SET status = 'active', stage = 'running', startedAt = ?1, executorType = ?2, targetAgent = ?3, updatedAt = ?1 WHERE id = ?4
         RETURNING ${columns}`,
      [this.now(), executorType, targetAgent, id],
    );
  }

  /** Blocked: waits for a person's answer, or for the replay of a dead letter. */
  block(id: string, isBlocked: boolean): void {
    this.write('UPDATE flows SET status = ?, updatedAt = ? WHERE id = ?', [
      isBlocked ? 'blocked' : 'active',
      this.now(),
      id,
    ]);
  }

  finish(id: string, error: string | undefined): Flow | undefined {
    return this.one<Flow>(
      `UPDATE flows SET status = 'complete', stage = ?1, completedAt = ?2, durationMs = ?2 - coalesce(startedAt, createdAt),
         errorPreview = ?3, updatedAt = ?2 WHERE id = ?4 RETURNING ${columns}`,
      [error === undefined ? 'done' : 'error', this.now(), error?.slice(0, previewLength) ?? null, id],
    );
  }

  trace(id: string, event: string, details: unknown): void {
    this.write(
      `INSERT INTO trace (flowId, number, at, event, details)
         SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM trace WHERE flowId = ?1
         HAVING coalesce(max(number), 0) < ${mostTraceEntries}`,
      [id, this.now(), event, JSON.stringify(details ?? null)],
    );
  }

  get(id: string): Flow | undefined {
    return this.one<Flow>(`SELECT ${columns} FROM flows WHERE id = ?`, [id]);
  }

  originOf(id: string): FlowOrigin | undefined {
    return this.one<FlowOrigin>('SELECT messageId, correlationId FROM flows WHERE id = ?', [id]);
  }

  ownerOf(id: string): string | undefined {
    return this.one<{ owner: string }>('SELECT owner FROM flows WHERE id = ?', [id])?.owner;
  }

  /** Of the first request of a correlation. */
  ownerOfRequest(correlationId: string): string | undefined {
    const sql = 'SELECT owner FROM flows WHERE correlationId = ? ORDER BY rowid LIMIT 1';
    return this.one<{ owner: string }>(sql, [correlationId])?.owner;
  }

  traceOf(id: string): TraceEntry[] {
    return this.all<{ at: number; event: string; details: string }>(
      'SELECT at, event, details FROM trace WHERE flowId = ? ORDER BY number',
      [id],
    ).map(({ at, event, details }) => ({ at, event, details: JSON.parse(details) }));
  }

  /** The newest first. */
  list({ since = 0, status, limit, offset = 0, principal }: FlowQuery): Flow[] {
    const seen = ownerFilter(principal);
    // SQLite uses the partial index of open flows only if the query names its condition.
    const open = status === undefined || status === 'complete' ? '' : "AND status <> 'complete'";
    return this.all<Flow>(
      `SELECT ${columns} FROM flows WHERE ${seen.sql} AND updatedAt >= ? AND status = coalesce(?, status) ${open}
         ORDER BY createdAt DESC, rowid DESC LIMIT ? OFFSET ?`,
      [...seen.values, since, status ?? null, limit, offset],
    );
  }

  /** Deletes a batch of old flows; true when there is more. */
  sweep(): boolean {
    const { changes } = this.write(
      `DELETE FROM flows WHERE id IN (
           SELECT id FROM flows WHERE createdAt < ?1 AND updatedAt < ?1 ORDER BY createdAt LIMIT ${sweptAtOnce})`,
      [this.now() - keptMs],
    );
    return changes === sweptAtOnce;
  }

  #byMessage(messageId: string): Flow | undefined {
    return this.one<Flow>(`SELECT ${columns} FROM flows WHERE messageId = ?`, [messageId]);
  }
}

function previewOf(words: string): string | null {
  // Looks at more than it keeps, as white space collapses; the whole text may be megabytes.
  const line = words
    .slice(0, 4 * previewLength)
    .replace(/\s+/g, ' ')
    .trim();
  return line === '' ? null : line.slice(0, previewLength);
}
