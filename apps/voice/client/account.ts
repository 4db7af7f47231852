// Who calls, and what they may choose from.
import { type Resource, useResource } from '@trunkline/ui';
import type { Account, SkillChoice, Skills } from '../api-types.ts';

export function useAccount(): Resource<Account> {
  return useResource<Account>('/api/whoami');
}

export function useSkills(): Resource<Skills> {
  return useResource<Skills>('/api/skills');
}

export function activeSkill(skills: Skills | undefined): SkillChoice | undefined {
  return skills?.skills.find(({ slug }) => slug === skills.active);
}
