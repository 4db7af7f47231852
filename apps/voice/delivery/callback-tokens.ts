import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '@trunkline/storage';
import { SweptTable } from '../store/swept-table.ts';
import type { DeliveryPort } from './delivery.ts';

/** Whom a delegate may bring late news, and how far the delegation is. */
export interface CallbackGrant {
  userId: string;
  delegate: string;
  /** `asking`: the answer may still come on the line. `late`: it did not. `answered`: it did. */
  state: 'asking' | 'late' | 'answered';
  /** What was pushed while the line was open. */
  text?: string;
  /** The question whose answer is to come by the callback, as a key, and until when it is waited for. */
  expected?: { question: string; until: number };
}

/** Tokens that open the callback for one delegation each. Only their hashes are kept. */
export class CallbackTokens {
  readonly #table: SweptTable<CallbackGrant>;

  constructor(database: Database) {
    this.#table = new SweptTable<CallbackGrant>(database, 'callback_tokens');
  }

  issue(userId: string, delegate: string): string {
    const token = randomBytes(32).toString('base64url');
    this.#table.set(keyOf(token), { userId, delegate, state: 'asking' });
    return token;
  }

  find(token: string): CallbackGrant | undefined {
    return this.#table.get(keyOf(token));
  }

  update(token: string, change: Partial<CallbackGrant>): void {
    const grant = this.find(token);
    if (grant !== undefined) this.#table.set(keyOf(token), { ...grant, ...change });
  }

  /** Whether an answer to this question is still to come. */
  isExpected(userId: string, delegate: string, question: string): boolean {
    return this.#table
      .entries()
      .some(
        ([, grant]) =>
          grant.state === 'late' &&
          grant.userId === userId &&
          grant.delegate === delegate &&
          grant.expected?.question === question &&
          grant.expected.until > Date.now(),
      );
  }

  /** Lines that a restart has cut: what was pushed meanwhile is delivered, the rest may still come late. */
  recover(delivery: DeliveryPort): void {
    for (const [key, grant] of this.#table.entries()) {
      const { state, text, userId, delegate: from } = grant;
      if (state !== 'asking') continue;
      if (text !== undefined) delivery.deliver(userId, { from, text, policy: 'next_silence' });
      this.#table.set(key, { ...grant, state: text === undefined ? 'late' : 'answered' });
    }
  }
}

/** A look-up by hash tells nothing about the token through its timing. */
function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
