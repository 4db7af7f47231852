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

/** Something that matters for security, as whoever notices it reports it. */
export interface AuditEvent {
  service: string;
  /** What kind of event: `tool.call`, `http.change`, `http.refused`, `operator.sign-in`, `approval`, and the like. */
  action: string;
  /** What it was done to: a tool, a route, a file. */
  subject: string;
  principal: Principal;
  /** Only their hash is stored. */
  arguments?: unknown;
  decision?: 'allow' | 'ask' | 'deny' | undefined;
  /** The policy rule that decided. */
  rule?: string | undefined;
  result?: string | undefined;
  task?: string | undefined;
}

/** Takes events for the audit log. Never throws: what is recorded has already happened. */
export interface AuditRecorder {
  record(event: AuditEvent): void;
  /** Why nothing may be done now that has to be recorded: what happened so far, or would happen, cannot be. */
  refusal?(): string | undefined;
}
