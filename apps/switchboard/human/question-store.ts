import type { Question } from '../api-types.ts';

import { Store } from '../core/store.ts';

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
];

const columns = 'requestId, correlationId, question, askedAt, answer, answeredAt, approval';

const dayMs = 24 * 60 * 60 * 1000;
/** Answers stay for whoever asks again. */
const keptMs = { answered: 7 * dayMs, open: 30 * dayMs };

/** Questions to people; deleted a week after the answer. */
export class QuestionStore extends Store {
  constructor(path: string, now?: () => number) {
    super(path, migrations, now);
  }

  /** Returns the existing question of this correlation, or a new one. */
  open(asked: Pick<Question, 'requestId' | 'correlationId' | 'question' | 'approval'>): Question {
    const { requestId, correlationId, question } = asked;
    const approval = Number(asked.approval);
    this.write(
      'INSERT INTO questions (requestId, correlationId, question, askedAt, approval) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      [requestId, correlationId, question, this.now(), approval],
    );
    const sql = `SELECT ${columns} FROM questions WHERE correlationId = ? AND question = ? AND approval = ? AND usedAt IS NULL`;
    return questionOf(this.one<Row>(sql, [correlationId, question, approval]) as Row);
  }

  get(requestId: string): Question | undefined {
    const row = this.one<Row>(`SELECT ${columns} FROM questions WHERE requestId = ?`, [requestId]);
    return row && questionOf(row);
  }

  /** Returns whether the question was still open. */
  answer(requestId: string, answer: string, by: string): boolean {
    const sql =
      'UPDATE questions SET answer = ?, answeredAt = ?, answeredBy = ? WHERE requestId = ? AND answer IS NULL';
    return this.write(sql, [answer, this.now(), by, requestId]).changes > 0;
  }

  /** Marks the answer as used, so that the question can be asked again. Returns whether it was unused. */
  use(requestId: string): boolean {
    const sql = 'UPDATE questions SET usedAt = ? WHERE requestId = ? AND usedAt IS NULL';
    return this.write(sql, [this.now(), requestId]).changes > 0;
  }

  /** The oldest first. */
  pending(): Question[] {
    return this.all<Row>(`SELECT ${columns} FROM questions WHERE answer IS NULL ORDER BY askedAt`).map(
      questionOf,
    );
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
