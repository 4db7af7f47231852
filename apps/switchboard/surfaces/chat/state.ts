import { join } from 'node:path';
import { type Database, openDatabase, TtlTable, ttlTableMigration } from '@trunkline/storage';

/** A slash command that waits for its answer. */
export interface OpenInteraction {
  applicationId: string;
  token: string;
  channelId: string | undefined;
}

/** The platform takes answers to a command for a quarter of an hour. */
const interactionMs = 15 * 60_000;
const positionMs = 365 * 24 * 60 * 60_000;

/** What must outlive a restart: how far each channel was read, and which commands wait. */
export class ChatState {
  readonly #database: Database;
  readonly #positions: TtlTable<string>;
  readonly #interactions: TtlTable<OpenInteraction>;

  constructor(home: string) {
    const migrations = [ttlTableMigration('positions'), ttlTableMigration('interactions')];
    this.#database = openDatabase(join(home, 'chat.db'), { migrations });
    this.#positions = new TtlTable(this.#database, 'positions');
    this.#interactions = new TtlTable(this.#database, 'interactions');
  }

  lastRead(channelId: string): string | undefined {
    return this.#positions.get(channelId);
  }

  read(channelId: string, messageId: string): void {
    const known = this.#positions.get(channelId);
    if (known === undefined || BigInt(known) < BigInt(messageId))
      this.#positions.set(channelId, messageId, positionMs);
  }

  interaction(id: string): OpenInteraction | undefined {
    return this.#interactions.get(id);
  }

  openInteraction(id: string, interaction: OpenInteraction): void {
    this.#interactions.set(id, interaction, interactionMs);
  }

  close(): void {
    this.#database.close();
  }
}
