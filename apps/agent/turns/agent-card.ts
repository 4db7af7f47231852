import type { AgentDescription, AgentSkill } from '@trunkline/a2a';
import type { AgentConfig } from '../setup/config-schema.ts';
import type { Skill } from '../skills/skill-repository.ts';

export interface CardFacts {
  agentName: string;
  version: string;
  publicUrl: string;
  config: AgentConfig;
  skills: readonly Skill[];
}

const talking: AgentSkill = {
  id: 'chat',
  name: 'Chat',
  description: 'Takes a task in plain words, uses tools, asks back where it must, and reports.',
  tags: ['chat', 'tools'],
};

/** What the agent says about itself: the skills of its configuration and of its folder, else that it can talk. */
export function describeAgent({
  agentName,
  version,
  publicUrl,
  config,
  skills,
}: CardFacts): AgentDescription {
  const { a2a, identity } = config;
  const own = skills.map(({ name, description }): AgentSkill => ({ id: name, name, description, tags: [] }));
  const listed = [...a2a.skills, ...own];
  return {
    name: identity.name || agentName,
    description: a2a.description || 'An agent that does tasks with tools and asks back where it must.',
    version,
    publicUrl,
    skills: listed.length > 0 ? listed.map(withTag) : [talking],
  };
}

/** The protocol wants a tag for each skill. */
function withTag(skill: AgentSkill): AgentSkill {
  return skill.tags.length > 0 ? skill : { ...skill, tags: ['skill'] };
}
