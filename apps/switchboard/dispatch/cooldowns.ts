import { type Environment, readVariable } from '@trunkline/config';
import type { Dispatch } from './request.ts';

const builtIn: Record<string, number> = { pr_review: 30_000, bug_triage: 30_000, security_triage: 60_000 };
const mostKeys = 10_000;

/** Keeps the same skill from being run on the same state of the same thing again at once. */
export class Cooldowns {
  readonly #until = new Map<string, number>();
  readonly #env: Environment;
  readonly #now: () => number;

  constructor(env: Environment, now: () => number = Date.now) {
    this.#env = env;
    this.#now = now;
  }

  /** Takes the key for its time, unless somebody has it: then gives the words that say so. */
  take({ skill, repo }: Dispatch): string | undefined {
    const pause = this.#pauseOf(skill);
    if (repo === undefined || pause <= 0) return undefined;
    const key = `${skill} ${repo.owner}/${repo.repo}#${repo.number ?? ''}@${repo.sha?.slice(0, 7) ?? ''}`;
    const left = (this.#until.get(key) ?? 0) - this.#now();
    if (left > 0) return `${key} ran just now; it may run again in ${Math.ceil(left / 1000)} s`;
    this.#remember(key, this.#now() + pause);
    return undefined;
  }

  #pauseOf(skill: string): number {
    const name = `SWITCHBOARD_COOLDOWN_MS_${skill.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
    const given = Number(readVariable(name, this.#env) ?? Number.NaN);
    return Number.isFinite(given) ? given : (builtIn[skill] ?? 0);
  }

  #remember(key: string, until: number): void {
    this.#until.delete(key);
    this.#until.set(key, until);
    const oldest = this.#until.keys().next().value;
    if (this.#until.size > mostKeys && oldest !== undefined) this.#until.delete(oldest);
  }
}
