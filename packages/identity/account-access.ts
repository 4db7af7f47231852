import type { Principal } from './principal.ts';

/** By what a person is known: a key or session of their account, or an identity that is linked to it. */
export type AccountProof = { key: string } | { session: string } | { identity: string };

/** How people with an account prove who they are. */
export interface AccountAccess {
  /** Undefined: nobody's. Throws, with words, for a disabled account and for a key that was revoked. */
  principalFor(proof: AccountProof): Principal | undefined;
  /**
   * Whoever was known before, with the rights of today: never more than they had then. Throws, with words, for an account
   * that is disabled or was removed. Who has no account stays as they are.
   */
  current(principal: Principal): Principal;
  /** The value of a session cookie. */
  createSession(accountId: string): string;
  endSession(cookie: string): void;
}
