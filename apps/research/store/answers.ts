import type { Database } from '@trunkline/storage';
import type { Answer, Claim } from '../api-types.ts';

/** A question that was asked about a report, and the answer from its stored sources. */
export interface StoredAnswer extends Omit<Answer, 'askedAt'> {
  askedAt: number;
}

interface AnswerRow extends Omit<StoredAnswer, 'claims'> {
  claims: string;
}

/** Follow-up questions of each job. */
export class AnswerStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(jobId: string, { question, text, claims }: Pick<Answer, 'question' | 'text' | 'claims'>): StoredAnswer {
    const askedAt = Date.now();
    const { lastInsertRowid } = this.#database
      .prepare('INSERT INTO answers (job_id, question, text, claims, asked_at) VALUES (?, ?, ?, ?, ?)')
      .run(jobId, question, text, JSON.stringify(claims), askedAt);
    return { id: Number(lastInsertRowid), question, text, claims, askedAt };
  }

  all(jobId: string): StoredAnswer[] {
    return this.#database
      .prepare<AnswerRow>(
        'SELECT id, question, text, claims, asked_at AS askedAt FROM answers WHERE job_id = ? ORDER BY id',
      )
      .all(jobId)
      .map((row) => ({ ...row, claims: JSON.parse(row.claims) as Claim[] }));
  }
}
