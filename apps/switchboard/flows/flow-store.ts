import type { Principal } from '@trunkline/identity';
import type { Flow, FlowOrigin, TraceEntry } from '../api-types.ts';
import { SharedWrites, Store } from '../core/store.ts';
import type { FlowApproval } from '../dispatch/executor.ts';
import { columns, type FlowQuery, listFlows, quickMs } from './flow-list.ts';
import { type Traced, traceText } from './flow-trace.ts';

interface FlowStart extends FlowOrigin {
  skill: string;
  request: string;
  owner: string;
}

/** A flow as switchboards share it. */
export interface SharedFlow extends FlowOrigin {
  flow: Flow;
  owner: string;
  trace: TraceEntry[];
}

const keptMs = 7 * 24 * 60 * 60 * 1000;
const previewLength = 300;
/** Deleting this many blocks the process for a few milliseconds. */
const sweptAtOnce = 200;
/** A turn that calls tools without end must not fill the disk. */
const mostTraceEntries = 500;

/** A flow that has not ended by then is written. */
const unwrittenMs = 50;
const retryMs = 1000;

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
  `CREATE INDEX flows_long ON flows (updatedAt) WHERE updatedAt > createdAt + ${quickMs}`,
  'ALTER TABLE flows ADD COLUMN trace TEXT; DROP INDEX flows_by_correlation;',
  `CREATE INDEX flows_long_by_owner ON flows (owner, updatedAt) WHERE updatedAt > createdAt + ${quickMs}`,
  'ALTER TABLE flows ADD COLUMN approval TEXT',
];

/** Values of a flow in the order of `columns`. */
const columnNames = columns.split(', ') as (keyof Flow)[];
const flowMarks = columns.replace(/\w+/g, '?');

/** Written once: a text that is put together anew is hashed and compared anew at each call. */
const selectKnown = `SELECT ${columns}, messageId FROM flows WHERE messageId = ? UNION ALL SELECT ${columns}, messageId FROM flows WHERE id = ?`;
const insertFlow = `INSERT INTO flows (rowid, messageId, correlationId, owner, trace, ${columns}) VALUES (?, ?, ?, ?, ?, ${flowMarks})`;

/** A flow that is not in the file yet; a restart opens it anew, as its message is delivered again. */
interface Unwritten extends FlowOrigin {
  rowid: number;
  flow: Flow;
  owner: string;
  trace: Traced[];
}

/**
 * Dispatched requests with their traces; deleted after seven days. What ends at once is written once, at its end, as one
 * row with its trace; entries that come later are rows of their own. Reading writes all that is not written yet.
 */
export class FlowStore extends Store {
  readonly #writes: SharedWrites;
  readonly #unwritten = new Map<string, Unwritten>();
  /** What the transaction under way has written. */
  #written: Unwritten[] | undefined;
  #lastRowid: number;
  #timer: NodeJS.Timeout | undefined;
  #changed: (id: string, isMinor?: boolean) => void = () => undefined;

  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
    this.#writes = new SharedWrites(this.database);
    this.#lastRowid =
      this.one<{ last: number }>('SELECT coalesce(max(rowid), 0) AS last FROM flows')?.last ?? 0;
  }

  /** Calls back with the id of each flow that changes, its trace apart; all changes but its end are minor. */
  onChange(listener: (id: string, isMinor?: boolean) => void): void {
    this.#changed = listener;
  }

  /** Opens a flow, or returns that of a redelivered message. */
  open({ messageId, correlationId, skill, request, owner }: FlowStart): Flow {
    const plain = `skill-${correlationId}`;
    const known = this.#knownFlows(messageId, plain);
    const same = known.find((flow) => flow.messageId === messageId);
    if (same !== undefined) return same.flow;
    const now = this.now();
    const flow: Flow = {
      id: known.length === 0 ? plain : `${plain}-${messageId}`,
      type: 'skill',
      status: 'active',
      stage: 'dispatched',
      createdAt: now,
      startedAt: null,
      completedAt: null,
      durationMs: null,
      skill,
      requestPreview: previewOf(request),
      executorType: null,
      targetAgent: null,
      errorPreview: null,
      approval: null,
      updatedAt: now,
    };
    this.#lastRowid += 1;
    this.#keep({ rowid: this.#lastRowid, flow, messageId, correlationId, owner, trace: [] });
    this.#changed(flow.id, true);
    return { ...flow };
  }

  ofMessage(messageId: string, correlationId: string): Flow | undefined {
    const known = this.#knownFlows(messageId, `skill-${correlationId}`);
    return known.find((flow) => flow.messageId === messageId)?.flow;
  }

  start(id: string, executorType: string, targetAgent: string): Flow | undefined {
    const now = this.now();
    this.#changed(id, true);
    const fields = {
      status: 'active',
      stage: 'running',
      startedAt: now,
      executorType,
      targetAgent,
      updatedAt: now,
    } as const;
    return (
      this.#change(id, fields) ??
      this.one<Flow>(
        `UPDATE flows SET status = 'active', stage = 'running', startedAt = ?1, executorType = ?2, targetAgent = ?3, updatedAt = ?1 WHERE id = ?4
         RETURNING ${columns}`,
        [now, executorType, targetAgent, id],
      )
    );
  }

  /** Blocked: waits for a person's answer, or for the replay of a dead letter. */
  block(id: string, isBlocked: boolean, decided?: FlowApproval | 'given'): void {
    const [status, now] = [isBlocked ? 'blocked' : 'active', this.now()] as const;
    this.#changed(id, true);
    const approval = decided === 'given' ? null : decided;
    const change = { status, updatedAt: now, ...(approval !== undefined && { approval }) };
    if (this.#change(id, change) !== undefined) return;
    const set = Object.keys(change).map((name) => `${name} = ?`);
    this.write(`UPDATE flows SET ${set} WHERE id = ?`, [...Object.values(change), id]);
  }

  /**
   * Ends a flow with a last entry of its trace; both are in the file when it resolves. When writing fails, a flow that is
   * not in the file yet is written later with the end it got, so that a redelivered message does not run again.
   */
  end(id: string, error: string | undefined, details: unknown): Promise<Flow | undefined> {
    const written: Unwritten[] = [];
    const entry = this.#traced('end', details);
    const work = () => {
      this.#written = written;
      try {
        this.#addTrace(id, entry);
        return this.finish(id, error);
      } finally {
        this.#written = undefined;
      }
    };
    return this.#writes.run(work, () => {
      for (const each of written.splice(0)) this.#keep(each);
    });
  }

  /** Writes the flow at once. */
  finish(id: string, error: string | undefined): Flow | undefined {
    const now = this.now();
    this.#changed(id);
    const stage = error === undefined ? 'done' : 'error';
    const errorPreview = error?.slice(0, previewLength) ?? null;
    const unwritten = this.#unwritten.get(id);
    if (unwritten !== undefined) {
      const durationMs = now - (unwritten.flow.startedAt ?? unwritten.flow.createdAt);
      const end = {
        status: 'complete',
        stage,
        completedAt: now,
        durationMs,
        errorPreview,
        updatedAt: now,
      } as const;
      const flow = this.#change(id, end);
      this.#write(unwritten);
      this.#release(unwritten);
      return flow;
    }
    return this.one<Flow>(
      `UPDATE flows SET status = 'complete', stage = ?1, completedAt = ?2, durationMs = ?2 - coalesce(startedAt, createdAt),
         errorPreview = ?3, updatedAt = ?2 WHERE id = ?4 RETURNING ${columns}`,
      [stage, now, errorPreview, id],
    );
  }

  trace(id: string, event: string, details: unknown): void {
    this.#addTrace(id, this.#traced(event, details));
  }

  /** Writes what is not written yet: something that outlives this process is about to name it. */
  flush(): void {
    if (this.#unwritten.size === 0) return;
    const all = [...this.#unwritten.values()];
    this.database.transaction(() => {
      for (const each of all) this.#write(each);
    });
    for (const each of all) this.#release(each);
  }

  override close(): void {
    clearTimeout(this.#timer);
    this.#writes.flush();
    this.flush();
    super.close();
  }

  get(id: string): Flow | undefined {
    this.flush();
    return this.one<Flow>(`SELECT ${columns} FROM flows WHERE id = ?`, [id]);
  }

  originOf(id: string): FlowOrigin | undefined {
    this.flush();
    return this.one<FlowOrigin>('SELECT messageId, correlationId FROM flows WHERE id = ?', [id]);
  }

  ownerOf(id: string): string | undefined {
    this.flush();
    return this.one<{ owner: string }>('SELECT owner FROM flows WHERE id = ?', [id])?.owner;
  }

  /** Of the first request of a correlation. */
  ownerOfRequest(correlationId: string): string | undefined {
    return this.#firstOf(correlationId, 'TRUE')?.owner;
  }

  /** Whether a request of a correlation has not ended. */
  hasOpen(correlationId: string): boolean {
    return this.#firstOf(correlationId, "status <> 'complete'") !== undefined;
  }

  traceOf(id: string): TraceEntry[] {
    this.flush();
    const first = this.one<{ trace: string | null }>('SELECT trace FROM flows WHERE id = ?', [id])?.trace;
    const later = this.all<Traced>('SELECT at, event, details FROM trace WHERE flowId = ? ORDER BY number', [
      id,
    ]).map(({ at, event, details }) => ({ at, event, details: JSON.parse(details) }));
    return [...(JSON.parse(first ?? '[]') as TraceEntry[]), ...later];
  }

  /** A flow as others get it; undefined when there is none. */
  shared(id: string): SharedFlow | undefined {
    const [flow, origin, owner] = [this.get(id), this.originOf(id), this.ownerOf(id)];
    if (flow === undefined || origin === undefined || owner === undefined) return undefined;
    return { flow, ...origin, owner, trace: this.traceOf(id) };
  }

  /** Ids of the newest flows that have changed since. */
  newest(limit: number, since: number): string[] {
    const principal: Principal = { kind: 'operator', id: 'operator', via: [] };
    return this.list({ limit, since, principal }).map(({ id }) => id);
  }

  drop(messageId: string): void {
    this.write('DELETE FROM flows WHERE messageId = ?', [messageId]);
  }

  /** Stores a flow of another switchboard, unless the same message's is known as late and with as long a trace. */
  take({ flow, messageId, correlationId, owner, trace }: SharedFlow): void {
    this.flush();
    const known = this.ofMessage(messageId, correlationId);
    const knownTrace = known === undefined ? [] : this.traceOf(known.id);
    if (known !== undefined && known.updatedAt > flow.updatedAt) return;
    if (known?.updatedAt === flow.updatedAt && knownTrace.length >= trace.length) return;
    this.#lastRowid += 1;
    // Of an open flow no trace is shared.
    const best = flow.status === 'complete' || trace.length > 0 ? trace : knownTrace;
    const entries = best.map(({ at, event, details }) => ({
      at,
      event,
      details: JSON.stringify(details ?? null),
    }));
    this.database.transaction(() => {
      this.drop(messageId);
      this.#write({ rowid: this.#lastRowid, flow, messageId, correlationId, owner, trace: entries });
    });
  }

  /** The newest first. */
  list(query: FlowQuery): Flow[] {
    this.flush();
    return listFlows((sql, values) => this.all(sql, values), query);
  }

  /** Deletes a batch of old flows; true when there is more. */
  sweep(): boolean {
    this.flush();
    const { changes } = this.write(
      `DELETE FROM flows WHERE id IN (
           SELECT id FROM flows WHERE createdAt < ?1 AND updatedAt < ?1 ORDER BY createdAt LIMIT ${sweptAtOnce})`,
      [this.now() - keptMs],
    );
    return changes === sweptAtOnce;
  }

  #firstOf(correlationId: string, condition: string): { owner: string } | undefined {
    this.flush();
    const plain = `skill-${correlationId}`;
    // The ids of its flows: the plain one, and those with another message's id behind a hyphen.
    const sql = `SELECT owner FROM flows WHERE (id = ?1 OR (id > ?2 AND id < ?3)) AND correlationId = ?4 AND ${condition} ORDER BY rowid LIMIT 1`;
    return this.one(sql, [plain, `${plain}-`, `${plain}.`, correlationId]);
  }

  /** Of the message, or with the plain id of its correlation. */
  #knownFlows(messageId: string, plain: string): Pick<Unwritten, 'messageId' | 'flow'>[] {
    const rows = this.all<Flow & { messageId: string }>(selectKnown, [messageId, plain]);
    const known = rows.map(({ messageId: of, ...flow }) => ({ messageId: of, flow }));
    if (this.#unwritten.size === 0) return known;
    for (const id of [plain, `${plain}-${messageId}`]) {
      const unwritten = this.#unwritten.get(id);
      if (unwritten !== undefined)
        known.push({ messageId: unwritten.messageId, flow: { ...unwritten.flow } });
    }
    return known;
  }

  /** Changes a flow that is not written yet; undefined when it is. */
  #change(id: string, fields: Partial<Flow>): Flow | undefined {
    const unwritten = this.#unwritten.get(id);
    return unwritten && { ...Object.assign(unwritten.flow, fields) };
  }

  #keep(unwritten: Unwritten): void {
    this.#unwritten.set(unwritten.flow.id, unwritten);
    this.#timer ??= setTimeout(this.#writeLate, unwrittenMs).unref();
  }

  #release(unwritten: Unwritten): void {
    this.#unwritten.delete(unwritten.flow.id);
    this.#written?.push(unwritten);
  }

  #write(unwritten: Unwritten): void {
    const { rowid, flow, messageId, correlationId, owner, trace } = unwritten;
    const values: (string | number | null)[] = [rowid, messageId, correlationId, owner, traceText(trace)];
    for (const name of columnNames) values.push(flow[name] ?? null);
    this.write(insertFlow, values);
  }

  #traced(event: string, details: unknown): Traced {
    return { at: this.now(), event, details: JSON.stringify(details ?? null) };
  }

  /** Adding the same entry again changes nothing, as a transaction that failed is tried once more. */
  #addTrace(id: string, entry: Traced): void {
    const trace = this.#unwritten.get(id)?.trace;
    if (trace !== undefined) {
      if (trace.length < mostTraceEntries && !trace.includes(entry)) trace.push(entry);
      return;
    }
    const known = `coalesce(max(number), (SELECT json_array_length(trace) FROM flows WHERE id = ?1), 0)`;
    this.write(
      `INSERT INTO trace (flowId, number, at, event, details)
         SELECT ?1, ${known} + 1, ?2, ?3, ?4 FROM trace WHERE flowId = ?1 HAVING ${known} < ${mostTraceEntries}`,
      [id, entry.at, entry.event, entry.details],
    );
  }

  readonly #writeLate = (): void => {
    this.#timer = undefined;
    try {
      this.flush();
    } catch {
      // A full disk, say: the end of each flow meets it again, and reports it.
      this.#timer = setTimeout(this.#writeLate, retryMs).unref();
    }
  };
}

function previewOf(words: string): string | null {
  // Looks at more than it keeps, as white space collapses; the whole text may be megabytes.
  const start = words.slice(0, 4 * previewLength);
  const line = /\s\s|[^\S ]|^ | $/.test(start) ? start.replace(/\s+/g, ' ').trim() : start;
  return line === '' ? null : line.slice(0, previewLength);
}
