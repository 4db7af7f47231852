import type { Admission, AgentLimiter } from '../dispatch/agent-limiter.ts';
import { isPending } from '../dispatch/registry.ts';
import type { RoutingDeps } from '../router/decide.ts';
import type { SkillTarget } from './ask-skill.ts';

/** Whom a caller means: the agent and skill that are named, else those of the helm; words when there is no such one. */
export function targetOf(
  agent: string | undefined,
  skill: string | undefined,
  { registry, workspace }: RoutingDeps,
): SkillTarget | { error: string } {
  const name = agent ?? workspace.fleet().roles.helm;
  const executor = registry.agent(name);
  const chosen = skill ?? executor?.skills[0]?.name;
  if (executor === undefined || chosen === undefined)
    return { error: `There is no agent ${name} with a skill.` };
  const found = registry.resolve(chosen, name);
  return 'reason' in found ? { error: `It cannot be done: ${found.why}.` } : { agent: name, skill: chosen };
}

/** Seconds after which a caller that was refused may ask again. */
export const retryAfterSeconds = 5;

/** Lets a caller in that waits for the answer of an agent, or says why not now; nothing is accepted before. */
export function admit(
  { agent, skill }: SkillTarget,
  { registry }: Pick<RoutingDeps, 'registry'>,
  limiter: AgentLimiter,
): Admission {
  const executor = registry.agent(agent);
  if (executor !== undefined && isPending(executor, skill))
    return { refusal: `${agent} has not answered since the switchboard started; try again later` };
  return limiter.admit(agent);
}
