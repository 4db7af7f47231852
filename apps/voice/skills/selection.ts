import { PersonaUnavailableError } from '../errors.ts';
import type { Preferences, User } from '../users/user.ts';
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

  /** The slug shown to the user: their choice if allowed, else the first allowed one. */
  activeFor(user: User): string {
    const chosen = this.#preferences.skillOf(user.id)?.slug;
    const isKnown = chosen !== undefined && this.find(user, chosen) !== undefined;
    if (isKnown && (user.role === 'admin' || isAllowed(user, chosen))) return chosen;
    const { allowedSkills } = user;
    if (allowedSkills === null) return this.#library.base.slug;
    // The choice stays although its file is gone, as another skill may have more tools.
    if (chosen !== undefined && allowedSkills.includes(chosen)) return chosen;
    const usable = allowedSkills.find((slug) => this.#library.findFile(slug) !== undefined);
    return usable ?? allowedSkills[0] ?? this.#library.base.slug;
  }

  /** A skill outside the user's list that an admin assigned; it answers until they choose another. */
  assignedTo(user: User): string | undefined {
    const chosen = this.#preferences.skillOf(user.id);
    const applies = chosen?.byAdmin === true && this.#library.find(chosen.slug) !== undefined;
    return applies && !isAllowed(user, chosen.slug) ? chosen.slug : undefined;
  }

  /** The skill for one session or turn. Users with a list get nothing that is not on it. */
  snapshot(user: User): Skill {
    const slug = this.assignedTo(user) ?? this.activeFor(user);
    if (user.allowedSkills === null) return this.#library.find(slug) ?? this.#library.base;
    const skill = this.#library.findFile(slug);
    if (skill !== undefined) return skill;
    throw new PersonaUnavailableError(
      `The skill ${slug} of user ${user.id} cannot be used: ${this.#library.pathOf(slug)} is missing or broken. Put the file back, then call POST /api/skills/reload, or choose another skill.`,
    );
  }

  /** A skill that the user may know of; a voice that another user cloned is not there. */
  find(user: User, slug: string): Skill | undefined {
    const skill = this.#library.find(slug);
    return skill && isVisible(user, skill) ? skill : undefined;
  }

  visibleTo(user: User): Skill[] {
    return this.#library.all.filter((skill) => isVisible(user, skill));
  }

  choicesFor(user: User): Skill[] {
    return this.visibleTo(user).filter(({ slug }) => user.role === 'admin' || isAllowed(user, slug));
  }

  choose(userId: string, slug: string): void {
    this.#preferences.chooseSkill(userId, { slug, byAdmin: false });
  }

  assign(userId: string, slug: string): void {
    this.#preferences.chooseSkill(userId, { slug, byAdmin: true });
  }
}

function isVisible({ id, role }: User, { owner }: Skill): boolean {
  return owner === undefined || owner === id || role === 'admin';
}

export function isAllowed(user: User, slug: string): boolean {
  return user.allowedSkills === null || user.allowedSkills.includes(slug);
}
