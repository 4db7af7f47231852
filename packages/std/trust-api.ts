// What the routes below /operator answer, for the services that serve them and the page at /trust that shows it.

/** An entry of the audit log. Arguments are kept as a hash only: they may hold secrets and private text. */
export interface AuditEntry {
  sequence: number;
  /** ISO time. */
  at: string;
  service: string;
  action: string;
  subject: string;
  /** `kind:id` of whoever asked first. */
  principal: string;
  /** The services that handed the request on, the first one first. */
  via: string[];
  argumentsHash: string | null;
  decision: string | null;
  /** The policy rule that decided. */
  rule: string | null;
  result: string | null;
  task: string | null;
  /** Hash of the entry before; the first entry has 64 zeros. */
  previous: string;
  hash: string;
}

export interface AuditVerification {
  entries: number;
  /** Hash of the newest entry. Keep a copy elsewhere: whoever can write the file can also rewrite the whole chain. */
  head: string;
  /** The first entry that was changed, or that follows one which was removed; missing while the chain is whole. */
  brokenAt?: number;
}
