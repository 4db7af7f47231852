import { joinOrigins, type Origin, ownerFilter, parseOrigins } from '@trunkline/identity';
import { type Database, openDatabase, storedBytes } from '@trunkline/storage';
import { type Actor, operatorActor } from '../owners.ts';
import { StoreError } from './store-error.ts';

export const ISSUE_TYPES = ['task', 'bug', 'feature', 'chore', 'epic'] as const;
export const ISSUE_STATES = ['open', 'in_progress', 'blocked', 'deferred', 'closed'] as const;

type IssueType = (typeof ISSUE_TYPES)[number];
type IssueState = (typeof ISSUE_STATES)[number];

/** One entry of the task board. */
export interface Issue {
  id: string;
  title: string;
  description: string;
  /** 0 is the most urgent, 4 the least. */
  priority: number;
  issue_type: IssueType;
  status: IssueState;
  /** Why it was closed. */
  reason: string | null;
  created_at: string;
  updated_at: string;
}

export type NewIssue = Pick<Issue, 'title' | 'description' | 'priority' | 'issue_type'>;
type Changeable = NewIssue & Pick<Issue, 'status' | 'reason'>;
export type IssueChange = { [Field in keyof Changeable]?: Changeable[Field] | undefined };

const schema = `CREATE TABLE issues (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  priority INTEGER NOT NULL,
  issue_type TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT`;
/** Issues of before they had owners are everybody's. */
const owners = `ALTER TABLE issues ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
CREATE INDEX issues_by_owner ON issues (owner, priority, number)`;
/** Where the text of an issue came from, beyond the operator's trust. */
const marks = 'ALTER TABLE issues ADD COLUMN origins TEXT';
const columns =
  "'bd-' || number AS id, title, description, priority, issue_type, status, reason, created_at, updated_at";

/** The task board, as the operator sees it; `for` gives it as others do. */
export class BeadsStore {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #actor: Actor;

  constructor(place: string | Database, now: () => Date = () => new Date(), actor = operatorActor) {
    this.#database =
      typeof place === 'string' ? openDatabase(place, { migrations: [schema, owners, marks] }) : place;
    this.#now = now;
    this.#actor = actor;
  }

  for(actor: Actor): BeadsStore {
    return new BeadsStore(this.#database, this.#now, actor);
  }

  /** `origins`: what the words were drawn from; they stay with the issue. */
  create(
    { title, description, priority, issue_type }: NewIssue,
    origins: readonly Origin[] | undefined = [],
  ): Issue {
    this.#actor.keep?.(sizeOf({ title, description, reason: null }));
    const now = this.#now().toISOString();
    const { lastInsertRowid } = this.#database
      .prepare(
        `INSERT INTO issues (title, description, priority, issue_type, status, created_at, updated_at, owner, origins)
         VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?)`,
      )
      .run(title, description, priority, issue_type, now, now, this.#actor.owner, JSON.stringify(origins));
    return this.get(`bd-${lastInsertRowid}`);
  }

  /** The most urgent first, the older before the newer. */
  list(includeClosed: boolean): Issue[] {
    const { sql, values } = ownerFilter(this.#actor.viewer);
    const where = includeClosed ? sql : `${sql} AND status <> 'closed'`;
    return this.#database
      .prepare<Issue>(`SELECT ${columns} FROM issues WHERE ${where} ORDER BY priority, number LIMIT 1000`)
      .all(...values);
  }

  get(id: string): Issue {
    const { sql, values } = ownerFilter(this.#actor.viewer);
    const issue = this.#database
      .prepare<Issue>(`SELECT ${columns} FROM issues WHERE number = ? AND ${sql}`)
      .get(numberOf(id), ...values);
    if (issue === undefined) throw unknown(id);
    return issue;
  }

  /** Where the words of these issues came from beyond the operator's trust: what their writers had read, and other people. */
  originsOf(issues: readonly Pick<Issue, 'id'>[]): readonly Origin[] {
    const numbers = JSON.stringify(issues.map(({ id }) => numberOf(id)));
    const rows = this.#database
      .prepare<{ owner: string; origins: string | null }>(
        'SELECT DISTINCT owner, origins FROM issues WHERE number IN (SELECT value FROM json_each(?))',
      )
      .all(numbers);
    const others = rows.filter(({ owner }) => !this.#isTrusted(owner));
    return joinOrigins(
      ...rows.map(({ origins }) => parseOrigins(JSON.parse(origins ?? '[]'))),
      others.map(({ owner }) => ({ kind: 'issue', source: owner })),
    );
  }

  #markOf(id: string): readonly Origin[] {
    const sql = 'SELECT origins FROM issues WHERE number = ?';
    const row = this.#database.prepare<{ origins: string | null }>(sql).get(numberOf(id));
    return parseOrigins(JSON.parse(row?.origins ?? '[]')) ?? [];
  }

  /** Whoever looks trusts their own words and the operator's. */
  #isTrusted(owner: string): boolean {
    const { viewer, owner: own } = this.#actor;
    return owner === own || /^operator(?::|$)/.test(owner) || viewer.aliases?.includes(owner) === true;
  }

  bytesOf(owner: string): number {
    const own = 'owner BETWEEN ?1 AND ?2';
    return storedBytes(this.#database, 'issues', ['title', 'description', 'reason'], own, owner);
  }

  update(id: string, change: IssueChange, origins: readonly Origin[] | undefined = []): Issue {
    const before = this.get(id);
    const read = joinOrigins(this.#markOf(id), origins);
    this.#actor.keep?.(Math.max(0, sizeOf({ ...before, ...given(change) }) - sizeOf(before)));
    const issue = { ...before, ...given(change), updated_at: this.#now().toISOString() };
    this.#database
      .prepare(
        `UPDATE issues SET title = ?, description = ?, priority = ?, issue_type = ?, status = ?, reason = ?, updated_at = ?,
         origins = ? WHERE number = ?`,
      )
      .run(
        issue.title,
        issue.description,
        issue.priority,
        issue.issue_type,
        issue.status,
        issue.reason,
        issue.updated_at,
        JSON.stringify(read),
        numberOf(id),
      );
    return issue;
  }

  close(): void {
    this.#database.close();
  }
}

function sizeOf({ title, description, reason }: Pick<Issue, 'title' | 'description' | 'reason'>): number {
  return Buffer.byteLength(title + description + (reason ?? ''));
}

function numberOf(id: string): number {
  const number = /^bd-(\d{1,15})$/.exec(id.trim().toLowerCase())?.[1];
  if (number === undefined) throw unknown(id);
  return Number(number);
}

function unknown(id: string): StoreError {
  return new StoreError('not_found', `no such issue ${id}.`);
}

function given(change: IssueChange): Partial<Changeable> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
