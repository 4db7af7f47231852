import type { Database } from '@trunkline/storage';
import type { Claim } from '../research/job.ts';

/** A question that was asked about a report, and the answer from its stored sources. */
export interface Answer {
  id: number;
  question: string;
  /** Markdown with checked citations. */
  text: string;
  claims: Claim[];
  askedAt: number;
}

interface AnswerRow extends Omit<Answer, 'claims'> {
  claims: string;
}

/** Follow-up questions of each job. */
export class AnswerStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(jobId: string, { question, text, claims }: Pick<Answer, 'question' | 'text' | 'claims'>): Answer {
    const askedAt = Date.now();
    const { lastInsertRowid } = this.#database
      .prepare('INSERT INTO answers (job_id, question, text, claims, asked_at) VALUES (?, ?, ?, ?, ?)')
      .run(jobId, question, text, JSON.stringify(claims), askedAt);
    return { id: Number(lastInsertRowid), question, text, claims, askedAt };
  }

  all(jobId: string): Answer[] {
    return this.#database
      .prepare<AnswerRow>(
        'SELECT id, question, text, claims, asked_at AS askedAt FROM answers WHERE job_id = ? ORDER BY id',
      )
      .all(jobId)
      .map((row) => ({ ...row, claims: JSON.parse(row.claims) as Claim[] }));
  }
}
