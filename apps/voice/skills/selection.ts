import type { Preferences } from '../users/preferences.ts';
import type { User } from '../users/user.ts';
import type { SkillLibrary } from './library.ts';
import type { Skill } from './skill.ts';

/** Which skill answers whom. */
export class SkillSelection {
  readonly #library: SkillLibrary;
  readonly #preferences: Preferences;

  constructor(library: SkillLibrary, preferences: Preferences) {
    this.#library = library;
    this.#preferences = preferences;
  }

  /** The slug shown to the user: their choice where they may have it, else the first they may have. */
  activeFor(user: User): string {
    const chosen = this.#preferences.skillOf(user.id);
    const known = chosen !== undefined && this.#library.find(chosen.slug) !== undefined;
    if (known && (user.role === 'admin' || isAllowed(user, chosen.slug))) return chosen.slug;
    return user.allowedSkills?.[0] ?? this.#library.base.slug;
  }

  /** A skill outside the user's list that an admin has put them on; it answers them until they choose another. */
  assignedTo(user: User): string | undefined {
    const chosen = this.#preferences.skillOf(user.id);
    const applies = chosen?.byAdmin === true && this.#library.find(chosen.slug) !== undefined;
    return applies && !isAllowed(user, chosen.slug) ? chosen.slug : undefined;
  }

  /** The skill as it is now, for a session or a turn to keep. */
  snapshot(user: User): Skill {
    const slug = this.assignedTo(user) ?? this.activeFor(user);
    const listed = user.allowedSkills?.map((allowed) => this.#library.find(allowed)).find(Boolean);
    return this.#library.find(slug) ?? listed ?? this.#library.base;
  }

  /** What the user may choose from. */
  choicesFor(user: User): Skill[] {
    return this.#library.all.filter(({ slug }) => user.role === 'admin' || isAllowed(user, slug));
  }

  choose(userId: string, slug: string): void {
    this.#preferences.chooseSkill(userId, { slug, byAdmin: false });
  }

  assign(userId: string, slug: string): void {
    this.#preferences.chooseSkill(userId, { slug, byAdmin: true });
  }
}

export function isAllowed(user: User, slug: string): boolean {
  return user.allowedSkills === null || user.allowedSkills.includes(slug);
}
