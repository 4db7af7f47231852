import type { ProtocolVersion } from '../dialects/version.ts';

/** A webhook registered for a task. */
export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  /** How the token is announced in the Authorization header. */
  scheme: string;
  /** The version of the caller who registered it: its notifications speak the same. */
  version: ProtocolVersion;
}
