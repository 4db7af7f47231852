import { ownerFilter, type Principal } from '@trunkline/identity';
import { type ApprovalSubject, approvalView } from '@trunkline/tools';
import type { Question } from '../api-types.ts';
import { Store } from '../core/store.ts';

/** The call that an approval is for. */
export interface AskedCall {
  tool: string;
  input: unknown;
  /** The rule of the policy that asks; a command asks without one. */
  rule?: string | undefined;
  /** An "always" counts for the task. */
  isTaskOnly?: true | undefined;
  /** What people are shown. */
  subject: ApprovalSubject;
}

type Row = Omit<Question, 'approval'> & { approval: number; about: string | null };

/** What makes two questions the same. */
type Asked = Pick<Question, 'correlationId' | 'question' | 'approval' | 'owner'>;

/** A question as switchboards share it. */
export interface SharedQuestion extends Question {
  answeredBy: string | null;
  /** Set without an answer: it was withdrawn. */
  usedAt: number | null;
  /** JSON of the call that an approval is for. */
  about: string | null;
}

const migrations = [
  `CREATE TABLE questions (
     requestId TEXT PRIMARY KEY, correlationId TEXT NOT NULL, question TEXT NOT NULL, askedAt INTEGER NOT NULL,
     answer TEXT, answeredAt INTEGER, UNIQUE (correlationId, question)) STRICT;`,
  // An approval differs from a question of the same words: not everybody may answer it. It is used once.
  `CREATE TABLE asked (
     requestId TEXT PRIMARY KEY, correlationId TEXT NOT NULL, question TEXT NOT NULL, askedAt INTEGER NOT NULL,
     answer TEXT, answeredAt INTEGER, answeredBy TEXT, approval INTEGER NOT NULL, usedAt INTEGER) STRICT;
   INSERT INTO asked SELECT requestId, correlationId, question, askedAt, answer, answeredAt, NULL, 0, NULL FROM questions;
   DROP TABLE questions;
   ALTER TABLE asked RENAME TO questions;
   CREATE UNIQUE INDEX questions_in_use ON questions (correlationId, question, approval) WHERE usedAt IS NULL;`,
  `ALTER TABLE questions ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
   DROP INDEX questions_in_use;
   CREATE UNIQUE INDEX questions_in_use ON questions (correlationId, question, approval, owner) WHERE usedAt IS NULL;
   CREATE INDEX questions_open ON questions (owner, askedAt) WHERE answer IS NULL;`,
  // The call as JSON, for the audit log.
  'ALTER TABLE questions ADD COLUMN about TEXT;',
  // Of a copy: the switchboard that asks.
  'ALTER TABLE questions ADD COLUMN node TEXT;',
];

const questionColumns = 'requestId, correlationId, question, askedAt, answer, answeredAt, approval, owner';
const columns = `${questionColumns}, about`;
const sharedColumns = `${questionColumns}, answeredBy, usedAt, about`;

const dayMs = 24 * 60 * 60 * 1000;
/** Answers stay for whoever asks again. */
const keptMs = { answered: 7 * dayMs, open: 30 * dayMs };

/** Questions of one owner, the operator excepted, that wait for an answer. */
const mostOpen = 200;

export class QuestionsFull extends Error {
  constructor() {
    super(
      `${mostOpen} of your questions wait for an answer: answer some (GET /api/hitl/pending lists them).`,
    );
    this.name = 'QuestionsFull';
  }
}

/** Questions to people; deleted a week after the answer. */
export class QuestionStore extends Store {
  #changed: (id: string) => void = () => undefined;
  #answered: (id: string, answer: string) => void = () => undefined;

  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
  }

  /** Calls back with the id of each question that changes here. */
  onChange(listener: (id: string) => void): void {
    this.#changed = listener;
  }

  /** Calls back with each answer that was given at another switchboard. */
  onAnswered(listener: (id: string, answer: string) => void): void {
    this.#answered = listener;
  }

  /** Returns the existing question of this correlation, or a new one. */
  open(asked: Asked & Pick<Question, 'requestId'>, about?: AskedCall): Question {
    const { requestId, correlationId, question, owner } = asked;
    const { changes } = this.write(
      'INSERT INTO questions (requestId, correlationId, question, askedAt, approval, owner, about) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      [
        requestId,
        correlationId,
        question,
        this.now(),
        Number(asked.approval),
        owner,
        about === undefined ? null : JSON.stringify(about),
      ],
    );
    if (changes > 0) this.#changed(requestId);
    return this.find(asked) as Question;
  }

  /** Whoever asks without end fills neither the list of those who answer nor the disk. */
  requireRoom(owner: string): void {
    if (owner === 'operator' || owner.startsWith('operator:')) return;
    const sql =
      'SELECT count(*) AS count FROM questions WHERE owner = ? AND answer IS NULL AND usedAt IS NULL';
    if ((this.one<{ count: number }>(sql, [owner])?.count ?? 0) >= mostOpen) throw new QuestionsFull();
  }

  /** The question of these words, unless its answer was used. */
  find({ correlationId, question, approval, owner }: Asked): Question | undefined {
    const sql = `SELECT ${columns} FROM questions WHERE correlationId = ? AND question = ? AND approval = ? AND owner = ? AND usedAt IS NULL`;
    const row = this.one<Row>(sql, [correlationId, question, Number(approval), owner]);
    return row && questionOf(row);
  }

  get(requestId: string): Question | undefined {
    const row = this.one<Row>(`SELECT ${columns} FROM questions WHERE requestId = ?`, [requestId]);
    return row && questionOf(row);
  }

  aboutOf(requestId: string): AskedCall | undefined {
    const sql = 'SELECT about FROM questions WHERE requestId = ? AND about IS NOT NULL';
    const row = this.one<{ about: string }>(sql, [requestId]);
    return row && (JSON.parse(row.about) as AskedCall);
  }

  /** Returns whether the question was still open. */
  answer(requestId: string, answer: string, by: string): boolean {
    const sql =
      'UPDATE questions SET answer = ?, answeredAt = ?, answeredBy = ? WHERE requestId = ? AND answer IS NULL';
    const isOpen = this.write(sql, [answer, this.now(), by, requestId]).changes > 0;
    if (isOpen) this.#changed(requestId);
    return isOpen;
  }

  /** Ends open questions of work that ended at this time: nobody waits for an answer. Those of `exceptNode` stay. */
  withdraw(correlationId: string, endedAt: number, exceptNode = ''): void {
    const sql =
      'UPDATE questions SET usedAt = ? WHERE correlationId = ? AND usedAt IS NULL AND answer IS NULL AND askedAt < ? AND node IS NOT ?';
    this.write(sql, [this.now(), correlationId, endedAt, exceptNode]);
  }

  isWithdrawn(requestId: string): boolean {
    const sql = 'SELECT 1 FROM questions WHERE requestId = ? AND usedAt IS NOT NULL AND answer IS NULL';
    return this.one(sql, [requestId]) !== undefined;
  }

  /** Marks the answer as used, so that the question can be asked again. Returns whether it was unused. */
  use(requestId: string): boolean {
    const sql = 'UPDATE questions SET usedAt = ? WHERE requestId = ? AND usedAt IS NULL';
    const isUnused = this.write(sql, [this.now(), requestId]).changes > 0;
    if (isUnused) this.#changed(requestId);
    return isUnused;
  }

  shared(requestId: string): SharedQuestion | undefined {
    const sql = `SELECT ${sharedColumns} FROM questions WHERE requestId = ?`;
    const row = this.one<Omit<SharedQuestion, 'approval'> & { approval: number }>(sql, [requestId]);
    return row && { ...row, approval: row.approval === 1 };
  }

  /** Ids of the newest questions that were asked or answered since. */
  newest(limit: number, since: number): string[] {
    const sql = `SELECT requestId FROM questions WHERE max(askedAt, coalesce(answeredAt, 0), coalesce(usedAt, 0)) >= ?
      ORDER BY askedAt DESC LIMIT ?`;
    return this.all<{ requestId: string }>(sql, [since, limit]).map(({ requestId }) => requestId);
  }

  /** Stores a question of another switchboard. An answer or an end that is known here stays. */
  take(given: SharedQuestion, node: string | null): void {
    const known = this.shared(given.requestId);
    const { answer, answeredAt, answeredBy } = known?.answer == null ? given : known;
    const { requestId, correlationId, question, askedAt, approval, owner } = given;
    this.write(
      `INSERT OR REPLACE INTO questions (${sharedColumns}, node) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        ...[requestId, correlationId, question, askedAt, answer, answeredAt, Number(approval), owner],
        ...[answeredBy, known?.usedAt ?? given.usedAt, known?.about ?? given.about, node],
      ],
    );
    if (known?.answer === null && answer !== null) this.#answered(requestId, answer);
  }

  /** Goes on with a question of another switchboard, under its id. */
  adopt(given: SharedQuestion): void {
    this.take(given, null);
    this.#changed(given.requestId);
  }

  /** The switchboard that a copy was taken from. */
  nodeOf(requestId: string): string {
    const sql = 'SELECT node FROM questions WHERE requestId = ? AND node IS NOT NULL';
    return this.one<{ node: string }>(sql, [requestId])?.node ?? '';
  }

  drop(requestId: string): void {
    this.write('DELETE FROM questions WHERE requestId = ?', [requestId]);
  }

  /** The oldest first; those that somebody may see, or all. */
  pending(viewer?: Principal): Question[] {
    const seen = viewer === undefined ? { sql: 'TRUE', values: [] } : ownerFilter(viewer);
    const sql = `SELECT ${columns} FROM questions WHERE ${seen.sql} AND answer IS NULL AND usedAt IS NULL ORDER BY askedAt`;
    return this.all<Row>(sql, [...seen.values]).map(questionOf);
  }

  /** Deletes questions answered a week ago, or open for a month. */
  sweep(): void {
    this.write('DELETE FROM questions WHERE answeredAt < ? OR askedAt < ?', [
      this.now() - keptMs.answered,
      this.now() - keptMs.open,
    ]);
  }
}

function questionOf({ about, ...row }: Row): Question {
  // An approval that an earlier version stored has no subject.
  const { subject }: Partial<AskedCall> = about === null ? {} : JSON.parse(about);
  return {
    ...row,
    approval: row.approval === 1,
    ...(subject && { subject: approvalView(row.requestId, subject) }),
  };
}
