import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { Skill } from './skill-shelf.ts';

const input = z.object({ name: z.string().min(1).describe('Name of the skill.') });

/** Lets the agent read a skill when it needs it; only names and descriptions stand in its instructions. */
export function createLoadSkill(find: (name: string) => Promise<Skill | undefined>): Tool {
  return defineTool({
    name: 'load_skill',
    description: 'Gives the full text of a skill, to be followed for the work at hand.',
    input,
    async execute({ name }) {
      const skill = await find(name);
      return skill === undefined ? `Error: there is no skill named '${name}'.` : skill.body;
    },
  });
}
