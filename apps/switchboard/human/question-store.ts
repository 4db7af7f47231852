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

const dayMs = 24 * 60 * 60 * 1000;
/** An answer is there for whoever asks again; a question that nobody answered for so long is nobody's any more. */
const keptMs = { answered: 7 * dayMs, open: 30 * dayMs };

/** Questions to people, kept until they are answered and beyond. */
export class QuestionStore {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(path: string, now: () => number = Date.now) {
    this.#database = openDatabase(path, { migrations });
    this.#now = now;
  }

  /** The question of this correlation: the one that was asked before, or a new one. */
  open(requestId: string, correlationId: string, question: string): Question {
    this.#database
      .prepare(
        'INSERT INTO questions (requestId, correlationId, question, askedAt) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      )
      .run(requestId, correlationId, question, this.#now());
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
    return this.#database.prepare(sql).run(answer, this.#now(), requestId).changes > 0;
  }

  /** What waits for an answer, the oldest first. */
  pending(): Question[] {
    return this.#database
      .prepare<Question>('SELECT * FROM questions WHERE answer IS NULL ORDER BY askedAt')
      .all();
  }

  /** Removes what was answered a week ago, or asked in vain a month ago. */
  sweep(): void {
    this.#database
      .prepare('DELETE FROM questions WHERE answeredAt < ? OR askedAt < ?')
      .run(this.#now() - keptMs.answered, this.#now() - keptMs.open);
  }

  close(): void {
    this.#database.close();
  }
}
