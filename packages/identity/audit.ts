import type { Principal } from './principal.ts';

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
