import type { Surroundings } from '../router/decide.ts';
import type { SkillTarget } from './ask-skill.ts';

/** Whom a caller means: the agent and skill that are named, else those of the helm; words when there is no such one. */
export function targetOf(
  agent: string | undefined,
  skill: string | undefined,
  { registry, workspace }: Surroundings,
): SkillTarget | { error: string } {
  const name = agent ?? workspace.fleet().roles.helm;
  const executor = registry.agent(name);
  const chosen = skill ?? executor?.skills[0]?.name;
  if (executor === undefined || chosen === undefined)
    return { error: `There is no agent ${name} with a skill.` };
  const found = registry.resolve(chosen, name);
  return 'reason' in found ? { error: `It cannot be done: ${found.why}.` } : { agent: name, skill: chosen };
}
