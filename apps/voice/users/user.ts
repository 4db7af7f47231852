import type { ListedPerson } from '@trunkline/accounts';
import type { Database } from '@trunkline/storage';

type Role = 'user' | 'admin';

export interface User {
  id: string;
  displayName: string;
  role: Role;
  /** What they speak, a code such as `es`; undefined: the skill's, or as it is heard. */
  language?: string | undefined;
  /** Slugs the user may choose; null: all. */
  allowedSkills: readonly string[] | null;
  /** Beats the viz of the active skill. */
  pinnedViz: Readonly<Record<string, unknown>> | null;
}

/** The user that everybody is without a roster. */
export const defaultUser: User = {
  id: 'default',
  displayName: 'Default',
  role: 'admin',
  allowedSkills: null,
  pinnedViz: null,
};

/** The operator, if there is a roster. */
export const operatorUser: User = { ...defaultUser, id: 'operator', displayName: 'Operator' };

/** A user of the roster, as the list of people shows them. */
export function listedUser({ id, displayName, role }: User): Omit<ListedPerson, 'source'> {
  return { identity: `voice:${id}`, name: displayName, role: role === 'admin' ? 'operator' : 'member' };
}

/** `es`, `pt-BR`, `zh-Hant-TW`. */
export const languagePattern = /^[a-z]{2,3}(-[a-z]{4})?(-[a-z]{2}|-\d{3})?$/i;

interface SkillChoice {
  slug: string;
  byAdmin: boolean;
}

interface Row {
  skill: string | null;
  skill_by_admin: number;
  verbosity: string | null;
}

/** What each user has chosen. */
export class Preferences {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  skillOf(userId: string): SkillChoice | undefined {
    const row = this.#row(userId);
    return row?.skill ? { slug: row.skill, byAdmin: row.skill_by_admin === 1 } : undefined;
  }

  chooseSkill(userId: string, { slug, byAdmin }: SkillChoice): void {
    this.#database
      .prepare(
        `INSERT INTO preferences (user_id, skill, skill_by_admin) VALUES (?, ?, ?)
         ON CONFLICT (user_id) DO UPDATE SET skill = excluded.skill, skill_by_admin = excluded.skill_by_admin`,
      )
      .run(userId, slug, byAdmin ? 1 : 0);
  }

  verbosityOf(userId: string): string | undefined {
    return this.#row(userId)?.verbosity ?? undefined;
  }

  chooseVerbosity(userId: string, level: string): void {
    this.#database
      .prepare(
        `INSERT INTO preferences (user_id, verbosity) VALUES (?, ?)
         ON CONFLICT (user_id) DO UPDATE SET verbosity = excluded.verbosity`,
      )
      .run(userId, level);
  }

  #row(userId: string): Row | undefined {
    return this.#database
      .prepare<Row>('SELECT skill, skill_by_admin, verbosity FROM preferences WHERE user_id = ?')
      .get(userId);
  }
}
