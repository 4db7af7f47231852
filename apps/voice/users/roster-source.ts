import type { RosterText } from './roster.ts';

export type RosterOrigin = 'secrets_manager' | 'file';

/** A place where the roster may stand. */
export interface RosterSource {
  readonly origin: RosterOrigin;
  /** The file or the secret, as errors name it. */
  readonly name: string;
  /** The text of the roster, or undefined where there is none; throws when it cannot be read. */
  read(): Promise<RosterText | undefined>;
}
