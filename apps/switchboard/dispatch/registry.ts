import type { OfferedSkill, SkillExecutor } from './executor.ts';

export type DropReason = 'no_skill' | 'target_unresolved' | 'cooldown';

export type Resolution = { executor: SkillExecutor } | { reason: DropReason; why: string };

/** Registered executors, grouped by the part of the service that registered them. */
export class ExecutorRegistry {
  readonly #byOwner = new Map<string, readonly SkillExecutor[]>();
  readonly #listeners = new Set<() => void>();

  /** Replaces all executors of one owner. */
  replace(owner: string, executors: readonly SkillExecutor[]): void {
    this.#byOwner.set(owner, executors);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back after every change; returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  list(): SkillExecutor[] {
    return [...this.#byOwner.values()].flat();
  }

  agent(name: string): SkillExecutor | undefined {
    return this.list().find(({ agent }) => agent === name);
  }

  skills(): { agent: string; skill: OfferedSkill }[] {
    return this.list().flatMap(({ agent, skills }) => skills.map((skill) => ({ agent, skill })));
  }

  /** Who does it: the target, when one is named, must have the skill too. Those that are there go before those to come. */
  resolve(skill: string, agent: string | undefined): Resolution {
    const able = this.list().filter(
      (executor) =>
        (agent === undefined || executor.agent === agent) &&
        executor.skills.some(({ name }) => name === skill),
    );
    const executor = able.find((candidate) => !isPending(candidate, skill)) ?? able[0];
    if (executor !== undefined) return { executor };
    if (agent === undefined) return { reason: 'no_skill', why: `no agent has the skill ${skill}` };
    const known = this.agent(agent) !== undefined;
    const why = known ? `the agent ${agent} has no skill ${skill}` : `there is no agent ${agent}`;
    return { reason: 'target_unresolved', why };
  }
}

/** Whether the skill is only remembered: its executor has not answered since the start. */
export function isPending({ skills }: SkillExecutor, skill: string): boolean {
  return skills.some(({ name, pending }) => name === skill && pending === true);
}

/** Skills whose executor has answered since the start. */
export function confirmed(skills: readonly OfferedSkill[]): OfferedSkill[] {
  return skills.filter(({ pending }) => pending !== true);
}
