import { type Database, openDatabase } from '@trunkline/storage';

export interface Question {
  requestId: string;
  correlationId: string;
  question: string;
  askedAt: number;
  answer: string | null;
  answeredAt: number | null;
}

const migrations = [
  `CREATE TABLE questions (
     requestId TEXT PRIMARY KEY, correlationId TEXT NOT NULL, question TEXT NOT NULL, askedAt INTEGER NOT NULL,
     answer TEXT, answeredAt INTEGER, UNIQUE (correlationId, question)) STRICT;`,
];

/** Questions to people, kept until they are answered and beyond. */
export class QuestionStore {
  readonly #database: Database;

  constructor(path: string) {
    this.#database = openDatabase(path, { migrations });
  }

  /** The question of this correlation: the one that was asked before, or a new one. */
  open(requestId: string, correlationId: string, question: string): Question {
    this.#database
      .prepare(
        'INSERT INTO questions (requestId, correlationId, question, askedAt) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(requestId, correlationId, question, Date.now());
    return this.#database
      .prepare<Question>('SELECT * FROM questions WHERE correlationId = ? AND question = ?')
      .get(correlationId, question) as Question;
  }

  get(requestId: string): Question | undefined {
    return this.#database.prepare<Question>('SELECT * FROM questions WHERE requestId = ?').get(requestId);
  }

  /** Says whether the question was still open. */
  answer(requestId: string, answer: string): boolean {
    const sql = 'UPDATE questions SET answer = ?, answeredAt = ? WHERE requestId = ? AND answer IS NULL';
    return this.#database.prepare(sql).run(answer, Date.now(), requestId).changes > 0;
  }

  /** What waits for an answer, the oldest first. */
  pending(): Question[] {
    return this.#database
      .prepare<Question>('SELECT * FROM questions WHERE answer IS NULL ORDER BY askedAt')
      .all();
  }

  close(): void {
    this.#database.close();
  }
}
