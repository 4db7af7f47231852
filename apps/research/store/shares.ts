import { randomBytes } from 'node:crypto';
import type { Database } from '@trunkline/storage';

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
