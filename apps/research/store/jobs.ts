import { randomBytes } from 'node:crypto';
import {
  anonymous,
  decodePrincipal,
  encodePrincipal,
  ownerFilter,
  ownerKey,
  type Principal,
  quotaKey,
} from '@trunkline/identity';
import { type Database, EventLog, type LoggedEvent, Quota, storedBytes } from '@trunkline/storage';
import type { CitationScore } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import type { Job, JobOptions, NewEvent, ResearchEvent } from '../research/job.ts';
import { MOST_PARTS } from './parts.ts';
import { EVENTS } from './schema.ts';

interface JobRow
  extends Omit<
    Job,
    'options' | 'closed' | 'awaitingPlan' | 'isEstimated' | 'costUsd' | 'citations' | 'model' | 'principal'
  > {
  options: string;
  closed: number;
  awaitingPlan: number;
  estimatedCalls: number;
  costUsd: number;
  unpricedCalls: number;
  citations: string | null;
  model: string;
  principal: string | null;
}

const JOB = `SELECT id, query, session_id AS sessionId, options, status, phase, iteration, closed, awaiting_plan AS awaitingPlan,
  tokens, estimated_calls AS estimatedCalls, spent_ms AS spentMs, cost_usd AS costUsd, unpriced_calls AS unpricedCalls, error, report, citations, model,
  owner, principal, created_at AS createdAt FROM jobs`;

/** The columns that change while a job runs. */
export type JobChange = Partial<
  Pick<
    Job,
    | 'status'
    | 'phase'
    | 'iteration'
    | 'closed'
    | 'awaitingPlan'
    | 'error'
    | 'report'
    | 'citations'
    | 'options'
  >
>;

export interface NewJob {
  id: string;
  query: string;
  sessionId: string | undefined;
  options: JobOptions;
  model: { name: string; demo: boolean };
  principal: Principal;
}

/** What one call of the model used up; the cost is not known for every model. */
export interface Spending {
  tokens: number;
  /** Not counted by the endpoint. */
  isEstimated: boolean;
  costUsd: number | undefined;
}

/** An event of a job and its number in the log. */
export type NumberedEvent = Pick<LoggedEvent<ResearchEvent>, 'sequence' | 'event'>;

/** Gets the events of each commit, which may have none. */
type Watcher = (events: readonly NumberedEvent[]) => void;

/** Jobs and their events. A change of a job and the events that tell of it are written together or not at all. */
export class JobStore {
  readonly #database: Database;
  readonly #log: EventLog<ResearchEvent>;
  readonly #watchers = new Map<string, Set<Watcher>>();

  readonly #quota: Quota;

  /** Bytes that the reports of each owner may take; 0: no limit. */
  constructor(database: Database, limitBytes = 0) {
    this.#database = database;
    this.#quota = new Quota({
      limitBytes,
      usedBy: (owner) => this.#bytesOf(owner),
      advice:
        'delete research that you no longer need (DELETE /api/research/ID), or ask the operator for more',
    });
    this.#log = new EventLog<ResearchEvent>(database, EVENTS);
  }

  /** Jobs with their reports, drafts, checked claims, sources, answers to questions, and the pages that were read. */
  #bytesOf(owner: string): number {
    const own = 'job_id IN (SELECT id FROM jobs WHERE owner BETWEEN ?1 AND ?2)';
    const pages = `id IN (SELECT part.id FROM documents JOIN document_parts AS part
      ON part.id BETWEEN documents.id * ${MOST_PARTS} AND documents.id * ${MOST_PARTS} + ${MOST_PARTS - 1}
      WHERE kind = 'page' AND owner BETWEEN ?1 AND ?2)`;
    return (
      storedBytes(
        this.#database,
        'jobs',
        ['query', 'report', 'citations'],
        'owner BETWEEN ?1 AND ?2',
        owner,
      ) +
      storedBytes(this.#database, 'drafts', ['text'], own, owner) +
      storedBytes(this.#database, 'claims', ['sentence', 'reason', 'passage'], own, owner) +
      storedBytes(this.#database, 'sources', ['url', 'canonical', 'title', 'snippet'], own, owner) +
      storedBytes(this.#database, 'answers', ['question', 'text', 'claims'], own, owner) +
      storedBytes(this.#database, 'document_parts', ['text'], pages, owner)
    );
  }

  create(job: NewJob): void {
    const refusal = this.#quota.refusal(quotaKey(job.principal), Buffer.byteLength(job.query));
    if (refusal !== undefined) throw researchErrors.quota_exceeded({ refusal });
    const now = Date.now();
    this.commit(job.id, [{ type: 'scope_started', data: { query: job.query } }], () => {
      this.#database
        .prepare(
          `INSERT INTO jobs (id, query, session_id, options, status, phase, model, owner, principal, created_at, updated_at)
           VALUES (?, ?, ?, ?, 'running', 'scope', ?, ?, ?, ?, ?)`,
        )
        .run(
          job.id,
          job.query,
          job.sessionId ?? null,
          JSON.stringify(job.options),
          JSON.stringify(job.model),
          ownerKey(job.principal),
          encodePrincipal(job.principal),
          now,
          now,
        );
    });
  }

  get(id: string): Job | undefined {
    const row = this.#database.prepare<JobRow>(`${JOB} WHERE id = ?`).get(id);
    return row === undefined ? undefined : toJob(row);
  }

  /** Without the report and the rest of the row, as a running job asks again and again. */
  stateOf(id: string): { status: Job['status']; closed: boolean } | undefined {
    const row = this.#database
      .prepare<{ status: Job['status']; closed: number }>('SELECT status, closed FROM jobs WHERE id = ?')
      .get(id);
    return row && { status: row.status, closed: row.closed === 1 };
  }

  /** Deletes a job with all that it found out; gives the pages that nothing refers to any more. */
  remove({ id, owner }: Pick<Job, 'id' | 'owner'>): number[] {
    return this.#database.transaction(() => {
      const pages = this.#database
        .prepare<{ id: number }>(
          `SELECT DISTINCT d.id FROM sources AS own JOIN documents AS d ON d.id = own.document_id
           WHERE own.job_id = ?1 AND d.kind = 'page' AND d.owner = ?2
           AND NOT EXISTS (SELECT 1 FROM sources AS other WHERE other.document_id = d.id AND other.job_id <> ?1)
           AND NOT EXISTS (SELECT 1 FROM conversations WHERE owner = ?2 AND instr(messages, '"documentId":' || d.id))`,
        )
        .all(id, owner);
      this.#database.prepare(`DELETE FROM ${EVENTS} WHERE stream = ?`).run(id);
      this.#database.prepare('DELETE FROM jobs WHERE id = ?').run(id);
      return pages.map((page) => page.id);
    });
  }

  /** Jobs that a stop of the process left unfinished, oldest first. */
  open(): Job[] {
    return this.#database.prepare<JobRow>(`${JOB} WHERE closed = 0 ORDER BY created_at`).all().map(toJob);
  }

  /** The newest jobs that somebody may see whose query or report has the words; all of theirs when there are none. */
  find(words: string, limit: number, principal: Principal): Job[] {
    const seen = ownerFilter(principal);
    const pattern = containing(words);
    return this.#database
      .prepare<JobRow>(
        `${JOB} WHERE ${seen.sql} AND (query LIKE ? ESCAPE '\\' OR report LIKE ? ESCAPE '\\')
         ORDER BY created_at DESC, rowid DESC LIMIT ?`,
      )
      .all(...seen.values, pattern, pattern, limit)
      .map(toJob);
  }

  /**
   * Writes the change and appends the events in one transaction, then wakes whoever follows the job. Followers get the
   * events as they are given here: do not change them afterwards.
   */
  commit(id: string, events: readonly NewEvent[], change: () => void = () => undefined): void {
    const timestamp = new Date().toISOString();
    const stamped = events.map(({ type, data }) => ({
      type,
      ...(data !== undefined && { data }),
      timestamp,
    }));
    const sequences = this.#database.transaction(() => {
      change();
      return stamped.length > 0 ? this.#log.append(id, stamped) : [];
    });
    const watchers = this.#watchers.get(id);
    if (watchers === undefined) return;
    const numbered = stamped.map((event, index) => ({ sequence: sequences[index] ?? 0, event }));
    for (const wake of watchers) wake(numbered);
  }

  /** To be called inside `commit`. */
  update(id: string, change: JobChange): void {
    const { awaitingPlan: awaiting_plan, ...same } = change;
    const columns = {
      ...same,
      ...(awaiting_plan !== undefined && { awaiting_plan }),
      updated_at: Date.now(),
    };
    const assignments = Object.keys(columns).map((column) => `${column} = ?`);
    this.#database
      .prepare(`UPDATE jobs SET ${assignments.join(', ')} WHERE id = ?`)
      .run(...Object.values(columns).map(toColumn), id);
  }

  /** Adds the cost of one model call to the job, and the time that it was worked on since the last record. */
  spend(id: string, { tokens, isEstimated, costUsd }: Spending, milliseconds = 0): void {
    this.#database
      .prepare(
        `UPDATE jobs SET tokens = tokens + ?, estimated_calls = estimated_calls + ?, cost_usd = cost_usd + ?,
          unpriced_calls = unpriced_calls + ?, spent_ms = spent_ms + ? WHERE id = ?`,
      )
      .run(
        Math.round(tokens),
        isEstimated ? 1 : 0,
        costUsd ?? 0,
        costUsd === undefined ? 1 : 0,
        Math.round(milliseconds),
        id,
      );
  }

  addTime(id: string, milliseconds: number): void {
    this.#database
      .prepare('UPDATE jobs SET spent_ms = spent_ms + ? WHERE id = ?')
      .run(Math.round(milliseconds), id);
  }

  events(id: string, after: number): LoggedEvent<ResearchEvent>[] {
    return this.#log.read(id, { after, limit: 500 });
  }

  /** How many events of that type the job has. */
  countEvents(id: string, type: string): number {
    const row = this.#database
      .prepare<{ n: number }>(`SELECT count(*) AS n FROM ${EVENTS} WHERE stream = ? AND event ->> 'type' = ?`)
      .get(id, type);
    return row?.n ?? 0;
  }

  /** Calls back after each commit of the job with its events, until the returned function is called. */
  watch(id: string, wake: Watcher): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(wake));
    return () => {
      watchers.delete(wake);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
    };
  }
}

function toColumn(value: unknown): string | number | null {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' || typeof value === 'number') return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** Scores that were stored before there was a second judge lack its counts. */
function toScore(text: string): CitationScore {
  return { byModel: 0, doubtful: 0, ...(JSON.parse(text) as Omit<CitationScore, 'byModel' | 'doubtful'>) };
}

function toJob({ unpricedCalls, estimatedCalls, ...row }: JobRow): Job {
  return {
    ...row,
    options: JSON.parse(row.options) as JobOptions,
    closed: row.closed === 1,
    awaitingPlan: row.awaitingPlan === 1,
    isEstimated: estimatedCalls > 0,
    costUsd: unpricedCalls > 0 ? null : row.costUsd,
    citations: row.citations === null ? null : toScore(row.citations),
    model: JSON.parse(row.model) as Job['model'],
    principal: decodePrincipal(row.principal ?? '') ?? anonymous,
  };
}

/** Links by which anyone may read one report; a link that is taken back never works again. */
export class ShareStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The link of a job, made now when it has none. */
  share(jobId: string): string {
    const token = randomBytes(24).toString('base64url');
    this.#database
      .prepare('INSERT INTO shares (token, job_id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
      .run(token, jobId, Date.now());
    return this.tokenOf(jobId) ?? token;
  }

  tokenOf(jobId: string): string | undefined {
    return this.#database.prepare<{ token: string }>('SELECT token FROM shares WHERE job_id = ?').get(jobId)
      ?.token;
  }

  jobOf(token: string): string | undefined {
    return this.#database
      .prepare<{ jobId: string }>('SELECT job_id AS jobId FROM shares WHERE token = ?')
      .get(token)?.jobId;
  }

  revoke(jobId: string): void {
    this.#database.prepare('DELETE FROM shares WHERE job_id = ?').run(jobId);
  }
}

/** A pattern for LIKE with the escape sign `\\` that finds the words anywhere. */
export function containing(words: string): string {
  return `%${words.replace(/[\\%_]/g, '\\$&')}%`;
}
