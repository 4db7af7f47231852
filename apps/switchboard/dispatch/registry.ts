import type { OfferedSkill, SkillExecutor } from './executor.ts';

export type DropReason = 'no_skill' | 'target_unresolved' | 'cooldown';

export type Resolution = { executor: SkillExecutor } | { reason: DropReason; why: string };

/** Everybody who can do something, by the part of the service that brought them. */
export class ExecutorRegistry {
  readonly #byOwner = new Map<string, readonly SkillExecutor[]>();

  /** Replaces all executors of one owner. */
  replace(owner: string, executors: readonly SkillExecutor[]): void {
    this.#byOwner.set(owner, executors);
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

  /** Who does it: the target, when one is named, must have the skill too. */
  resolve(skill: string, agent: string | undefined): Resolution {
    const able = this.list().filter(({ skills }) => skills.some(({ name }) => name === skill));
    const executor = agent === undefined ? able[0] : able.find((candidate) => candidate.agent === agent);
    if (executor !== undefined) return { executor };
    if (agent === undefined) return { reason: 'no_skill', why: `no agent has the skill ${skill}` };
    const known = this.agent(agent) !== undefined;
    const why = known ? `the agent ${agent} has no skill ${skill}` : `there is no agent ${agent}`;
    return { reason: 'target_unresolved', why };
  }
}
