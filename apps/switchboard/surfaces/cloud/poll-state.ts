import { join } from 'node:path';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';

const dayMs = 24 * 60 * 60 * 1000;
const markMs = 60 * dayMs;
/** Mail may stand under its label for years, and one that is forgotten would be told again. */
const mailMs = 3650 * dayMs;

/** How far the calendar and each label of the mail were read. */
export class PollState {
  readonly #database: Database;
  readonly #marks: TtlTable<string>;
  readonly #mails: TtlTable<true>;

  constructor(home: string) {
    const migrations = [ttlTableMigration('marks'), ttlTableMigration('mails')];
    this.#database = openDatabase(join(home, 'cloud.db'), { migrations });
    this.#marks = new TtlTable(this.#database, 'marks');
    this.#mails = new TtlTable(this.#database, 'mails');
  }

  mark(name: string): string | undefined {
    return this.#marks.get(name);
  }

  setMark(name: string, value: string): void {
    this.#marks.set(name, value, markMs);
  }

  clearMark(name: string): void {
    this.#marks.delete(name);
  }

  hasSeen(mailId: string): boolean {
    return this.#mails.get(mailId) === true;
  }

  see(mailId: string): void {
    this.#mails.set(mailId, true, mailMs);
  }

  close(): void {
    this.#database.close();
  }
}
