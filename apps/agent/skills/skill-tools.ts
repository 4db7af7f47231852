import { defineTool } from '@trunkline/llm';
import { z } from 'zod';
import { defineToolModule } from '../tools/tool-module.ts';

/** The instructions hold only names and descriptions of skills; the agent loads the text when it needs one. */
export const skillTools = defineToolModule({
  name: 'skills',
  tools({ skills: { list, find } }) {
    if (list.length === 0) return [];
    const loadSkill = defineTool({
      name: 'load_skill',
      effects: ['reads'],
      description: 'Gives the full text of a skill, to be followed for the work at hand.',
      input: z.object({ name: z.string().min(1).describe('Name of the skill.') }),
      async execute({ name }) {
        const skill = await find(name);
        return skill === undefined ? `Error: there is no skill named '${name}'.` : skill.body;
      },
    });
    return [loadSkill];
  },
});
