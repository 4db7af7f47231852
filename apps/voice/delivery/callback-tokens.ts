import { createHash, randomBytes } from 'node:crypto';
import { type Database, TtlTable } from '@trunkline/storage';

/** Whom a delegate may bring late news, and how far the delegation is. */
export interface CallbackGrant {
  userId: string;
  delegate: string;
  /** `asking`: the answer may still come on the line. `late`: it did not. `answered`: it did. */
  state: 'asking' | 'late' | 'answered';
  /** What was pushed while the line was open. */
  text?: string;
}

const lifetimeMs = 24 * 60 * 60 * 1000;

/** Tokens that open the callback for one delegation each. Only their hashes are kept. */
export class CallbackTokens {
  readonly #table: TtlTable<CallbackGrant>;

  constructor(database: Database) {
    this.#table = new TtlTable<CallbackGrant>(database, 'callback_tokens');
    this.#table.sweep();
  }

  issue(userId: string, delegate: string): string {
    const token = randomBytes(32).toString('base64url');
    this.#table.set(keyOf(token), { userId, delegate, state: 'asking' }, lifetimeMs);
    return token;
  }

  find(token: string): CallbackGrant | undefined {
    return this.#table.get(keyOf(token));
  }

  update(token: string, change: Partial<CallbackGrant>): void {
    const grant = this.find(token);
    if (grant !== undefined) this.#table.set(keyOf(token), { ...grant, ...change }, lifetimeMs);
  }
}

/** A look-up by hash tells nothing about the token through its timing. */
function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
