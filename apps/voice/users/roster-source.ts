import type { RosterText } from './roster.ts';

export type RosterOrigin = 'secrets_manager' | 'file';

/** A place where the roster may stand. */
export interface RosterSource {
  readonly origin: RosterOrigin;
  /** The text of the roster, or undefined where none is configured; throws when it cannot be read. */
  read(): Promise<RosterText | undefined>;
}
