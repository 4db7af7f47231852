import type { Database } from '@trunkline/storage';
import type { Answer, Claim, ClaimChange, JobSource, SectionNote } from '../api-types.ts';
import type { Opinion } from '../citations/second-judge.ts';
import { type Dimension, mergedNote, type PlannedDimension } from '../research/job.ts';

interface ClaimRow extends Omit<Claim, 'supported' | 'certain' | 'change'> {
  supported: number;
  certain: number;
  change: ClaimChange | null;
}

interface DimensionRow extends Omit<Dimension, 'queries' | 'troubles'> {
  queries: string;
  troubles: string;
}

/** What the writer made of failed statements: the new words by the old ones, null where it drops one. */
export type Repairs = Record<string, string | null>;

/** A source as a search found it. */
export type NewSource = Pick<
  JobSource,
  'url' | 'title' | 'snippet' | 'engine' | 'quality' | 'published' | 'documentId'
> & {
  canonical: string;
};

const DIMENSION = 'position, name, queries, iteration, state, summary, key_finding AS keyFinding, troubles';
const SOURCE =
  'id, url, title, snippet, engine, quality, published, state, document_id AS documentId, duplicate_of AS duplicateOf, problem, number, coalesce((SELECT hidden FROM documents WHERE documents.id = document_id), 0) AS hidden';

/** What a job has found out so far. Writers are called inside `JobStore.commit`. */
export class FindingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  dimensions(jobId: string): Dimension[] {
    return this.#database
      .prepare<DimensionRow>(`SELECT ${DIMENSION} FROM dimensions WHERE job_id = ? ORDER BY position`)
      .all(jobId)
      .map((row) => ({
        ...row,
        queries: JSON.parse(row.queries) as string[],
        troubles: JSON.parse(row.troubles) as string[],
      }));
  }

  /** Adds dimensions after those that are there. */
  addDimensions(jobId: string, planned: readonly PlannedDimension[], iteration: number): void {
    const first = this.dimensions(jobId).length;
    for (const [index, { name, queries, merged = [] }] of planned.entries()) {
      this.#database
        .prepare(
          "INSERT INTO dimensions (job_id, position, name, queries, iteration, state) VALUES (?, ?, ?, ?, ?, 'planned')",
        )
        .run(jobId, first + index, name, JSON.stringify(queries), iteration);
      if (merged.length > 0) this.addNote(jobId, first + index, mergedNote(merged));
    }
  }

  /** What readers should know of how sections came about. */
  notes(jobId: string): (SectionNote & { position: number })[] {
    return this.#database
      .prepare<SectionNote & { position: number }>(
        'SELECT position, kind, words FROM section_notes WHERE job_id = ? ORDER BY position, kind',
      )
      .all(jobId);
  }

  /** Of each kind a section has one note, the newest. */
  addNote(jobId: string, position: number, { kind, words }: SectionNote): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO section_notes (job_id, position, kind, words) VALUES (?, ?, ?, ?)')
      .run(jobId, position, kind, words);
  }

  clearDimensions(jobId: string): void {
    this.#database.prepare('DELETE FROM dimensions WHERE job_id = ?').run(jobId);
    this.#database.prepare('DELETE FROM section_notes WHERE job_id = ?').run(jobId);
  }

  setDimension(
    jobId: string,
    position: number,
    change: Partial<Pick<Dimension, 'state' | 'summary' | 'keyFinding' | 'troubles'>>,
  ): void {
    const { state = null, summary = null, keyFinding = null, troubles } = change;
    this.#database
      .prepare(
        `UPDATE dimensions SET state = coalesce(?, state), summary = coalesce(?, summary),
           key_finding = coalesce(?, key_finding), troubles = coalesce(?, troubles) WHERE job_id = ? AND position = ?`,
      )
      .run(
        state,
        summary,
        keyFinding,
        troubles === undefined ? null : JSON.stringify(troubles),
        jobId,
        position,
      );
  }

  /** Dimensions of the pass that came to nothing are researched again, and their sources read again. */
  reopenDimensions(jobId: string, iteration: number): void {
    this.#database
      .prepare(
        `UPDATE dimensions SET state = 'planned', troubles = '[]' WHERE job_id = ? AND iteration = ? AND NOT EXISTS (
           SELECT 1 FROM uses JOIN sources ON sources.id = uses.source_id WHERE uses.job_id = dimensions.job_id
             AND uses.position = dimensions.position AND sources.state IN ('read', 'duplicate'))`,
      )
      .run(jobId, iteration);
    this.#database
      .prepare(
        `UPDATE sources SET state = 'found', problem = NULL WHERE job_id = ?1 AND state = 'failed' AND id IN (
           SELECT source_id FROM uses JOIN dimensions USING (job_id, position) WHERE job_id = ?1 AND dimensions.state = 'planned')`,
      )
      .run(jobId);
  }

  clearDrafts(jobId: string): void {
    this.#database.prepare('DELETE FROM drafts WHERE job_id = ?').run(jobId);
    this.#database
      .prepare("DELETE FROM section_notes WHERE job_id = ? AND kind IN ('extract', 'repeats', 'shortened')")
      .run(jobId);
    this.#database.prepare('DELETE FROM opinions WHERE job_id = ?').run(jobId);
    this.#database.prepare('DELETE FROM repairs WHERE job_id = ?').run(jobId);
  }

  /** Adds a source to the job, or finds the same one, and notes that the dimension uses it. */
  addSource(jobId: string, position: number, source: NewSource): void {
    const { url, canonical, title, snippet, engine, quality, published, documentId } = source;
    this.#database
      .prepare(
        `INSERT INTO sources (job_id, url, canonical, title, snippet, engine, quality, published, document_id, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'found') ON CONFLICT DO NOTHING`,
      )
      .run(jobId, url, canonical, title, snippet, engine, quality, published, documentId);
    this.#database
      .prepare(
        'INSERT INTO uses (job_id, position, source_id) SELECT job_id, ?, id FROM sources WHERE job_id = ? AND canonical = ? ON CONFLICT DO NOTHING',
      )
      .run(position, jobId, canonical);
  }

  sources(jobId: string): JobSource[] {
    return this.#database
      .prepare<JobSource>(`SELECT ${SOURCE} FROM sources WHERE job_id = ? ORDER BY id`)
      .all(jobId);
  }

  sourcesOf(jobId: string, position: number): JobSource[] {
    return this.#database
      .prepare<JobSource>(
        `SELECT ${SOURCE} FROM sources WHERE id IN (SELECT source_id FROM uses WHERE job_id = ? AND position = ?)
         ORDER BY quality DESC, id`,
      )
      .all(jobId, position);
  }

  /** The ids of the sources that each dimension found, by its position; a duplicate is replaced by the source it repeats. */
  uses(jobId: string): Map<number, ReadonlySet<number>> {
    const rows = this.#database
      .prepare<{ position: number; source: number }>(
        `SELECT position, coalesce(duplicate_of, sources.id) AS source
         FROM uses JOIN sources ON sources.id = uses.source_id WHERE uses.job_id = ?`,
      )
      .all(jobId);
    const byPosition = Map.groupBy(rows, ({ position }) => position);
    return new Map(
      [...byPosition].map(([position, uses]) => [position, new Set(uses.map(({ source }) => source))]),
    );
  }

  countSources(jobId: string, state?: JobSource['state']): number {
    return (
      this.#database
        .prepare<{ n: number }>(
          'SELECT count(*) AS n FROM sources WHERE job_id = ? AND state = coalesce(?, state)',
        )
        .get(jobId, state ?? null)?.n ?? 0
    );
  }

  setSource(
    id: number,
    change: Partial<Pick<JobSource, 'state' | 'documentId' | 'duplicateOf' | 'problem' | 'title' | 'number'>>,
  ): void {
    const {
      state = null,
      documentId = null,
      duplicateOf = null,
      problem = null,
      title = null,
      number = null,
    } = change;
    this.#database
      .prepare(
        `UPDATE sources SET state = coalesce(?, state), document_id = coalesce(?, document_id), duplicate_of = coalesce(?, duplicate_of),
           problem = coalesce(?, problem), title = coalesce(?, title), number = coalesce(?, number) WHERE id = ?`,
      )
      .run(state, documentId, duplicateOf, problem, title, number, id);
  }

  drafts(jobId: string): Map<number, string> {
    const rows = this.#database
      .prepare<{ position: number; text: string }>('SELECT position, text FROM drafts WHERE job_id = ?')
      .all(jobId);
    return new Map(rows.map(({ position, text }) => [position, text]));
  }

  addDraft(jobId: string, position: number, text: string): void {
    this.#database
      .prepare('INSERT INTO drafts (job_id, position, text) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
      .run(jobId, position, text);
  }

  /** New words for failed statements of each section, by their old ones; a null drops the statement. */
  repairs(jobId: string): Map<number, Repairs> {
    const rows = this.#database
      .prepare<{ position: number; repairs: string }>(
        'SELECT position, repairs FROM repairs WHERE job_id = ?',
      )
      .all(jobId);
    return new Map(rows.map(({ position, repairs }) => [position, JSON.parse(repairs) as Repairs]));
  }

  addRepairs(jobId: string, position: number, repairs: Repairs): void {
    this.#database
      .prepare('INSERT INTO repairs (job_id, position, repairs) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
      .run(jobId, position, JSON.stringify(repairs));
  }

  /** What the model was asked about citations of the job, and its opinion where it gave one. */
  opinions(jobId: string): Map<string, Opinion | undefined> {
    const rows = this.#database
      .prepare<{ key: string; finding: Opinion['finding'] | null; words: string; is_topic: number }>(
        'SELECT key, finding, words, is_topic FROM opinions WHERE job_id = ?',
      )
      .all(jobId);
    return new Map(
      rows.map(({ key, finding, words, is_topic }) => [
        key,
        finding === null ? undefined : { finding, words, ...(is_topic === 1 && { isTopic: true }) },
      ]),
    );
  }

  addOpinions(jobId: string, opinions: ReadonlyMap<string, Opinion | undefined>): void {
    const insert = this.#database.prepare(
      'INSERT INTO opinions (job_id, key, finding, words, is_topic) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    for (const [key, opinion] of opinions)
      insert.run(jobId, key, opinion?.finding ?? null, opinion?.words ?? '', opinion?.isTopic ? 1 : 0);
  }

  addClaims(jobId: string, claims: readonly Claim[]): void {
    const insert = this.#database.prepare(
      `INSERT INTO claims (job_id, sentence, source_id, number, supported, judge, certain, score, reason, passage, passage_start, passage_end, change)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const claim of claims)
      insert.run(
        jobId,
        claim.sentence,
        claim.sourceId,
        claim.number,
        claim.supported ? 1 : 0,
        claim.judge,
        claim.certain ? 1 : 0,
        claim.score,
        claim.reason,
        claim.passage,
        claim.passageStart,
        claim.passageEnd,
        claim.change ?? null,
      );
  }

  claims(jobId: string): Claim[] {
    return this.#database
      .prepare<ClaimRow>(
        `SELECT sentence, source_id AS sourceId, number, supported, judge, certain, score, reason, passage,
           passage_start AS passageStart, passage_end AS passageEnd, change FROM claims WHERE job_id = ? ORDER BY id`,
      )
      .all(jobId)
      .map(({ change, ...row }) => ({
        ...row,
        supported: row.supported === 1,
        certain: row.certain === 1,
        ...(change !== null && { change }),
      }));
  }
}

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
