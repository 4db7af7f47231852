import { ownerFilter, type Principal } from '@trunkline/identity';
import type { Question } from '../api-types.ts';
import { Store } from '../core/store.ts';

/** The call that an approval is for. */
export interface AskedCall {
  tool: string;
  input: unknown;
  /** The rule of the policy that asks; a command asks without one. */
  rule?: string | undefined;
}

type Row = Omit<Question, 'approval'> & { approval: number };

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
];

const columns = 'requestId, correlationId, question, askedAt, answer, answeredAt, approval, owner';

const dayMs = 24 * 60 * 60 * 1000;
/** Answers stay for whoever asks again. */
const keptMs = { answered: 7 * dayMs, open: 30 * dayMs };

/** Questions to people; deleted a week after the answer. */
export class QuestionStore extends Store {
  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
  }

  /** Returns the existing question of this correlation, or a new one. */
  open(
    asked: Pick<Question, 'requestId' | 'correlationId' | 'question' | 'approval' | 'owner'>,
    about?: AskedCall,
  ): Question {
    const { requestId, correlationId, question, owner } = asked;
    const approval = Number(asked.approval);
    this.write(
      'INSERT INTO questions (requestId, correlationId, question, askedAt, approval, owner, about) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      [
        requestId,
        correlationId,
        question,
        this.now(),
        approval,
        owner,
        about === undefined ? null : JSON.stringify(about),
      ],
    );
    const sql = `SELECT ${columns} FROM questions WHERE correlationId = ? AND question = ? AND approval = ? AND owner = ? AND usedAt IS NULL`;
    return questionOf(this.one<Row>(sql, [correlationId, question, approval, owner]) as Row);
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
    return this.write(sql, [answer, this.now(), by, requestId]).changes > 0;
  }

  /** Deletes open questions of work that ended elsewhere at this time: nobody waits for an answer. */
  withdraw(correlationId: string, endedAt: number): void {
    const sql =
      'DELETE FROM questions WHERE correlationId = ? AND usedAt IS NULL AND answer IS NULL AND askedAt < ?';
    this.write(sql, [correlationId, endedAt]);
  }

  /** Marks the answer as used, so that the question can be asked again. Returns whether it was unused. */
  use(requestId: string): boolean {
    const sql = 'UPDATE questions SET usedAt = ? WHERE requestId = ? AND usedAt IS NULL';
    return this.write(sql, [this.now(), requestId]).changes > 0;
  }

  /** The oldest first; those that somebody may see, or all. */
  pending(viewer?: Principal): Question[] {
    const seen = viewer === undefined ? { sql: 'TRUE', values: [] } : ownerFilter(viewer);
    const sql = `SELECT ${columns} FROM questions WHERE ${seen.sql} AND answer IS NULL ORDER BY askedAt`;
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

function questionOf(row: Row): Question {
  return { ...row, approval: row.approval === 1 };
}
