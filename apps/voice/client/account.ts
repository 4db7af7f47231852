// Who calls, and what they may choose from.
import { type Resource, useResource } from '@trunkline/ui';
import type { Viz } from './orb/look.ts';

export interface Account {
  id: string;
  display_name: string;
  role: 'user' | 'admin';
  allowed_skills: readonly string[] | null;
  pinned_viz: Viz | null;
  auth_source: string;
}

export interface SkillChoice {
  slug: string;
  name: string;
  description: string;
  viz: Viz;
}

export interface Skills {
  active: string;
  locked: boolean;
  skills: readonly SkillChoice[];
}

export function useAccount(): Resource<Account> {
  return useResource<Account>('/api/whoami');
}

export function useSkills(): Resource<Skills> {
  return useResource<Skills>('/api/skills');
}

export function activeSkill(skills: Skills | undefined): SkillChoice | undefined {
  return skills?.skills.find(({ slug }) => slug === skills.active);
}
